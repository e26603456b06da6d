"""Functions with weights."""
