"""Recurrent functions."""
