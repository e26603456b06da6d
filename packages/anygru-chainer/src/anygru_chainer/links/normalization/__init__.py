"""Normalization with parameters."""
