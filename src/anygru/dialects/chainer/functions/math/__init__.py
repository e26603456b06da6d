"""Arithmetic, reductions and linear algebra."""
