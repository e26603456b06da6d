"""Distributions of random Variables."""

from .basic import *
