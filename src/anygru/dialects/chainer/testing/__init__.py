"""What tests of models use."""

from ..testing.array import assert_allclose

__all__ = ["assert_allclose"]
