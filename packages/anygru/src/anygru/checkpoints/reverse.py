"""A GRU that reads backwards, which ONNX and Keras have and torch has not."""

from ..errors import ArgumentError
from ..facts.problem import Options
from ..layers.gru import GRU


class ReverseGRU(GRU):
    """A GRU with one direction, which reads each sequence from its last step to its first: ONNX's direction="reverse" and Keras's
    go_backwards=True. Arguments as in `GRU`; outputs are in the order of the input, and h_n is the state after the first
    step."""

    def _make_options(self) -> Options:
        if self.bidirectional:
            raise ArgumentError("bidirectional must be False: a layer that reads backwards has one direction")
        options = super()._make_options()
        return options._replace(layer=options.layer._replace(reverse=True))
