"""Tensors, their types, and their files."""
