"""Training steps as objects."""

from .graph import Graph
