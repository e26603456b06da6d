"""`paddle.dataset`: readers of Paddle 1.x over archives in the cache; it never downloads."""

from . import common as common
from . import imdb as imdb
from . import imikolov as imikolov
from . import mnist as mnist
from . import uci_housing as uci_housing

__all__: list[str] = []
