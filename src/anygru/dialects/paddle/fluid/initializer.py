"""`paddle.fluid.initializer`: the initializers under their first names."""

from ..nn.initializer import Assign as NumpyArrayInitializer
from ..nn.initializer import ConstantInitializer as Constant
from ..nn.initializer import ConstantInitializer as ConstantInitializer
from ..nn.initializer import Initializer as Initializer
from ..nn.initializer import MSRAInitializer as MSRA
from ..nn.initializer import MSRAInitializer as MSRAInitializer
from ..nn.initializer import NormalInitializer as Normal
from ..nn.initializer import NormalInitializer as NormalInitializer
from ..nn.initializer import TruncatedNormalInitializer as TruncatedNormal
from ..nn.initializer import TruncatedNormalInitializer as TruncatedNormalInitializer
from ..nn.initializer import UniformInitializer as Uniform
from ..nn.initializer import UniformInitializer as UniformInitializer
from ..nn.initializer import XavierInitializer as Xavier
from ..nn.initializer import XavierInitializer as XavierInitializer
from ..nn.initializer import set_global_initializer as set_global_initializer

__all__ = [
    "MSRA",
    "Constant",
    "ConstantInitializer",
    "Initializer",
    "MSRAInitializer",
    "Normal",
    "NormalInitializer",
    "NumpyArrayInitializer",
    "TruncatedNormal",
    "TruncatedNormalInitializer",
    "Uniform",
    "UniformInitializer",
    "Xavier",
    "XavierInitializer",
    "set_global_initializer",
]
