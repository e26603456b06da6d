"""Conversion to another format."""
