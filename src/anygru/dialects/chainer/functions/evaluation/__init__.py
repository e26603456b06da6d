"""Measures without a gradient."""
