"""Readers of files, with bounds on memory."""
