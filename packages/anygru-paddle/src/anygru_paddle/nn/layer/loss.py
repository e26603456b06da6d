"""Loss functions as layers: the functions of `paddle.nn.functional.loss` with their options fixed."""

from collections.abc import Callable, Mapping
from typing import Any

from ..functional import entropy, margins
from ..functional import loss as F
from .layers import Layer
from .of_function import FunctionLayer, layer_of

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "HingeEmbeddingLoss",
    "GaussianNLLLoss", "HSigmoidLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


def _reduces(name: str) -> Callable[[Mapping[str, Any]], None]:
    return lambda options: F.check_reduction(options["reduction"], name)


def _cosine(options: Mapping[str, Any]) -> None:
    F.check_reduction(options["reduction"], "CosineEmbeddingLoss")
    if not -1 <= options["margin"] <= 1:
        raise ValueError(
            f"The value of 'margin' should be in the interval of [-1, 1], but received {options['margin']:f}, which is "
            "not allowed."
        )


def _loss(name: str, function: Callable[..., Any], attribute: str = "{}", **options: Any) -> type[FunctionLayer]:
    return layer_of(name, function, attribute, None, __name__, **options)


_MEAN: dict[str, Any] = {"reduction": "mean"}
BCELoss = _loss("BCELoss", F.binary_cross_entropy, check=_reduces("bce_loss"), weight=None, **_MEAN)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, check=_reduces("BCEWithLogitsLoss"), weight=None, **_MEAN,
    pos_weight=None,
)  # fmt: skip
CTCLoss = _loss("CTCLoss", F.ctc_loss, named=False, blank=0, **_MEAN)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", F.cosine_embedding_loss, check=_cosine, margin=0, **_MEAN)
CrossEntropyLoss = _loss(
    "CrossEntropyLoss", entropy.cross_entropy, weight=None, ignore_index=-100, **_MEAN, soft_label=False, axis=-1,
    use_softmax=True, label_smoothing=0.0,
)  # fmt: skip
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss, margin=1.0, **_MEAN)
KLDivLoss = _loss("KLDivLoss", F.kl_div, named=False, **_MEAN)
L1Loss = _loss("L1Loss", F.l1_loss, check=_reduces("L1Loss"), **_MEAN)
MSELoss = _loss("MSELoss", F.mse_loss, named=False, check=_reduces("MSELoss"), **_MEAN)
MarginRankingLoss = _loss(
    "MarginRankingLoss", F.margin_ranking_loss, check=_reduces("MarginRankingLoss"), margin=0.0, **_MEAN
)
NLLLoss = _loss("NLLLoss", F.nll_loss, "_{}", check=_reduces("nll_loss"), weight=None, ignore_index=-100, **_MEAN)
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss, **_MEAN, delta=1.0)
TripletMarginLoss = _loss(
    "TripletMarginLoss", F.triplet_margin_loss, check=_reduces("TripletMarginLoss"), margin=1.0, p=2.0, epsilon=1e-6,
    swap=False, **_MEAN,
)  # fmt: skip


class HSigmoidLoss(Layer):
    """`hsigmoid_loss` with its parameters.

    Args:
        feature_size: features of the input.
        num_classes: classes, at least 2.
        weight_attr, bias_attr: attributes of `weight` [num_classes - 1, feature_size] and `bias` [num_classes - 1, 1].
        is_custom: the forward pass also takes the tree.
        is_sparse, name: kept for scripts.
    """

    def __init__(
        self, feature_size: int, num_classes: int, weight_attr: Any = None, bias_attr: Any = None, is_custom: bool = False,
        is_sparse: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise ValueError("num_classes must not be less than 2 with default tree")
        self._num_classes = num_classes
        nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([nodes, feature_size], weight_attr)
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input: Any, label: Any, path_table: Any = None, path_code: Any = None) -> Any:
        """The loss per sample, [N, 1]."""
        return margins.hsigmoid_loss(input, label, self._num_classes, self.weight, self.bias, path_table, path_code)


TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss", margins.triplet_margin_with_distance_loss, distance_function=None, margin=1.0, swap=False,
    **_MEAN, check=_reduces("TripletMarginWithDistanceLoss"),
)  # fmt: skip
GaussianNLLLoss = _loss("GaussianNLLLoss", margins.gaussian_nll_loss, full=False, epsilon=1e-6, **_MEAN)
PoissonNLLLoss = _loss("PoissonNLLLoss", margins.poisson_nll_loss, log_input=True, full=False, epsilon=1e-8, **_MEAN)
SoftMarginLoss = _loss("SoftMarginLoss", margins.soft_margin_loss, check=_reduces("SoftMarginLoss"), **_MEAN)
MultiMarginLoss = _loss(
    "MultiMarginLoss", margins.multi_margin_loss, check=_reduces("MultiMarginLoss"), p=1, margin=1.0, weight=None,
    **_MEAN,
)  # fmt: skip
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss", margins.multi_label_soft_margin_loss, check=_reduces("MultiLabelSoftMarginloss"),
    weight=None, **_MEAN,
)  # fmt: skip
