"""Checks of arguments, and the operator that reaches a backend."""
