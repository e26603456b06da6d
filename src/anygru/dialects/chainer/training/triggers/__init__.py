"""Triggers: when something happens."""

from .triggers import *  # noqa: F403
