"""Helpers."""

from . import data as data
