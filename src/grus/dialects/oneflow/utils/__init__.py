"""Helpers."""

from grus.dialects.oneflow.utils import data as data
