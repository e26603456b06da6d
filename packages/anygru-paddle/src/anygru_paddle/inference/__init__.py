"""`paddle.inference` over the files of `paddle.jit.save`."""

from .wrapper import Config as Config
from .wrapper import Predictor as Predictor
from .wrapper import Tensor as Tensor
from .wrapper import create_predictor as create_predictor
from .wrapper import get_version as get_version

__all__ = ["Config", "Predictor", "Tensor", "create_predictor", "get_version"]
