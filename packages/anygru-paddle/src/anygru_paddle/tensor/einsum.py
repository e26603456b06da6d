"""`paddle.einsum` at its own path."""

from .linalg import einsum as einsum
