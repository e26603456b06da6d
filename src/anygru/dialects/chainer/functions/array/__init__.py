"""Shapes, joining, splitting and indexing."""
