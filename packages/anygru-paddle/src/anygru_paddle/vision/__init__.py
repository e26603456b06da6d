"""`paddle.vision`: the choice of an image library; reading and changing images is left to torchvision."""

from .image import *
