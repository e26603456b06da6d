"""Atomic writing of files, and pickles without the original framework."""
