"""Whether a layer's forward pass is being recorded, for `paddle.jit.save`, and not computed."""

import threading

from anygru.extend import not_covered


class _Recording(threading.local):
    """
    Attributes:
        is_on: whether a pass is being recorded.
        of_training: whether it is a pass in training, in which operators need the same derivatives as in the layer.
    """

    is_on = False
    of_training = False


recording = _Recording()


def refuse_to_record(what: str) -> None:
    """Raise in a forward pass that is being recorded: `what` would become a constant of the program."""
    if recording.is_on:
        raise not_covered(f"paddle.jit.save of a forward pass with {what}", "paddle.save of layer.state_dict()")


def refuse_own_gradients(what: str) -> None:
    """Raise in a pass of training that is being recorded: the program would not have the gradients that `what` makes."""
    if recording.of_training:
        refuse_to_record(what)
