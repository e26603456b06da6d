"""Triggers: when something happens."""

from .triggers import *
