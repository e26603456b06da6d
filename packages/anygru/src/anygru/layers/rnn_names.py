"""The names by which libraries read a torch.nn.RNNBase, for layers of another class (docs/architecture.md,
Decisions)."""

from torch import Tensor

from ..errors import ArgumentError


class RNNNames:
    """Attributes of torch.nn.RNNBase that `GRU` and `FrozenGRU` have in addition to its arguments."""

    input_size: int
    mode = "GRU"
    """The kind of a layer."""
    proj_size = 0
    """Only an LSTM can have a projection."""

    def flatten_parameters(self) -> None:
        """Does nothing, since no backend needs contiguous weights; torch.nn.GRU's method lays them out for cuDNN."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None = None) -> None:
        """Refuses an input that the layer cannot read.

        Args:
            input: [T, B, I], or packed rows [N, I] with batch_sizes.

        Raises:
            ArgumentError: another number of dimensions or features.
        """
        form = "[T, B, I]" if batch_sizes is None else "[N, I]"
        if input.dim() != form.count(",") + 1 or input.shape[-1] != self.input_size:
            raise ArgumentError(f"input must be {form} with I = {self.input_size}, got {list(input.shape)}")
