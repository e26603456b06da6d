"""Embeddings."""

from ...functions.products import embed_id
from ...initializers.fillers import Normal
from ...link import Link
from ...types import InitializerSpec, VariableLike
from ...variable import Parameter, Variable, as_array

__all__ = ["EmbedID"]


class EmbedID(Link):
    """The rows of W [in_size, out_size] named by int ids.

    Args:
        in_size: number of ids.
        out_size: size of a row.
        initialW: Normal(1.0) by default.
        ignore_label: id that gives zeros.
    """

    ignore_label: int | None = None

    def __init__(
        self, in_size: int, out_size: int, initialW: InitializerSpec = None, ignore_label: int | None = None
    ) -> None:
        super().__init__()
        self.ignore_label = ignore_label
        with self.init_scope():
            # The standard deviation is 1, not that of other links (Chainer 7.8.1, seen).
            self.W = Parameter(Normal(1.0) if initialW is None else initialW, (in_size, out_size))

    @classmethod
    def from_params(cls, W: VariableLike, ignore_label: int | None = None) -> "EmbedID":
        """A link with a copy of an existing array or Variable."""
        in_size, out_size = W.shape
        return cls(in_size, out_size, initialW=as_array(W), ignore_label=ignore_label)

    def forward(self, x: VariableLike) -> Variable:
        """[..., out_size] from int ids x [...]."""
        return embed_id(x, self.W, ignore_label=self.ignore_label)
