"""Dtypes, random numbers, saving and loading."""
