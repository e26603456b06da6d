"""`paddle.fluid.initializer`: the initializers under their first names."""

from ..nn.initializer.initializer import (
    Assign,
    Bilinear,
    ConstantInitializer,
    Initializer,
    MSRAInitializer,
    NormalInitializer,
    TruncatedNormalInitializer,
    UniformInitializer,
    XavierInitializer,
    set_global_initializer,
)

__all__ = [
    "MSRA", "Bilinear", "BilinearInitializer", "Constant", "ConstantInitializer", "Initializer", "MSRAInitializer",
    "Normal", "NormalInitializer", "NumpyArrayInitializer", "TruncatedNormal", "TruncatedNormalInitializer", "Uniform",
    "UniformInitializer", "Xavier", "XavierInitializer", "set_global_initializer",
]  # fmt: skip

Constant, Uniform, Normal, Xavier = ConstantInitializer, UniformInitializer, NormalInitializer, XavierInitializer
MSRA, TruncatedNormal, NumpyArrayInitializer = MSRAInitializer, TruncatedNormalInitializer, Assign
BilinearInitializer = Bilinear
