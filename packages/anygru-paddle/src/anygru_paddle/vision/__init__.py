"""`paddle.vision`: the choice of an image library; what reads and changes images is torchvision's."""

from .image import *
