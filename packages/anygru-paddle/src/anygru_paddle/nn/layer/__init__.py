"""The layers of `paddle.nn`, at Paddle's paths."""

from .layers import Layer as Layer
