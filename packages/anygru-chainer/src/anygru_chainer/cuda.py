"""The former place of `chainer.backends.cuda`."""

from .backends.cuda import *  # noqa: F403
