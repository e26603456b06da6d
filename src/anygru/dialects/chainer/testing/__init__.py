"""What tests of models use."""

from anygru.dialects import refuser

from ..testing.array import assert_allclose

__all__ = ["assert_allclose"]
__getattr__ = refuser("chainer", "chainer.testing", {"parameterize": "pytest.mark.parametrize"})
