"""Every covered operator in every layout over two processes and a 2 x 2 mesh, against one process: with first and second
derivatives. The expressions are in `global_operators.py`.
"""

import re

import global_operators
import pytest
from torch.distributed.tensor import Partial

import anygru_oneflow as flow
from anygru import parallel
from anygru.extend import names

pytestmark = pytest.mark.needs_torch(2, 13, because="older layouts of distributed tensors differ")

# Names that take no tensor, make a tensor, or describe a tensor; modules and types; random numbers; files.
OTHERS = """
amp autocast autocast_decorator autograd arange as_tensor bernoulli bernoulli_ bfloat16 bool BoolTensor broadcast_shapes
ByteTensor byte CharTensor clear_autocast_cache comm convert_oneflow_dtype_to_numpy_dtype cuda cpu default_generator
device distributed distributions DoubleTensor dtype empty empty_like enable_grad env expm erfinv_ eye finfo FloatTensor float16
float32 float64 framework from_dlpack from_numpy full full_like Generator get_autocast_cpu_dtype get_autocast_gpu_dtype
get_default_dtype get_rng_state global_to_global HalfTensor hann_window iinfo index_add_ inference_mode initial_seed
int32 int64 int8 IntTensor is_autocast_cache_enabled is_autocast_enabled is_floating_point is_grad_enabled is_nonzero
is_tensor linalg linspace load local_to_global logspace LongTensor manual_seed multinomial multiprocessing new_empty
new_full new_ones new_zeros new_tensor nn no_grad normal numel ones optim placement rand randint randint_like
randn randn_like randperm
roc_auc_score save sbp seed set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_enabled
set_autocast_gpu_dtype set_default_dtype set_default_tensor_type set_grad_enabled set_num_threads set_printoptions
set_rng_state Size slice_update stft Tensor tensor to_dlpack to_global to_local uint8 utils zeros backward copy_ data
detach dim element_size exponential_ fill_ get_device grad grad_fn is_consistent is_contiguous is_cuda is_eager
is_global is_lazy is_leaf is_local is_pinned item kaiming_normal_ kaiming_uniform_ ndim ndimension nelement normal_
orthogonal_ pin_memory register_hook requires_grad requires_grad_ retain_grad shape size storage_offset stride to
to_consistent to_numpy trunc_normal_ type uniform_ xavier_normal_ xavier_uniform_ ctc_greedy_decoder gumbel_softmax
functional boxing Graph graph init Module ModuleDict ModuleList modules parallel Parameter parameter ParameterDict
ParameterList RNNBase RNNCellBase Sequential GRU GRUCell LSTM LSTMCell RNN RNNCell Dropout Dropout1d Dropout2d Dropout3d
SyncBatchNorm FusedBatchNorm1d FusedBatchNorm2d FusedBatchNorm3d CombinedMarginLoss triu_ square_ clamp_max_ clamp_min_
clip_ addcdiv_ addcmul_ scatter_ scatter_add_ max_unpool1d max_unpool2d max_unpool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
"""
SECTIONS = ("oneflow", "oneflow.Tensor", "oneflow.nn.functional", "oneflow.nn", "oneflow.linalg")

COMMON = """
x + y; x * 2; x @ y; F.linear(z, y, y[0]); F.mse_loss(x, y); F.cross_entropy(x, n[0]); F.cross_entropy(x, n[0], ignore_index=1)
F.embedding(n, x); F.layer_norm(z, (4,), y[0], y[1]); flow.cumsum(x, dim=0); flow.gather(x, 0, n); flow.triu(x, 1); x[0]
F.avg_pool2d(i,2); F.max_pool2d(i,2); x.unfold(1, 2, 2); F.hardsigmoid(x); flow.softmax(x, dim=1); flow.mean(x); flow.amax(x)
"""


def texts(listed: str) -> list[str]:
    return [part.strip() for line in listed.strip().splitlines() for part in line.split("; ")]


def test_the_table_has_every_operator() -> None:
    others = set(OTHERS.split())
    found = set(re.findall(r"\w+", " ".join(global_operators.expressions()).lower().replace("_", "")))
    missing = {
        f"{section}.{name}"
        for section in SECTIONS
        for name in names("oneflow").covered[section]
        if name not in others and not {name.lower().replace("_", ""), name.lower().removesuffix("_")} & found
    }
    assert missing == set()


def test_layouts_have_the_same_hash_in_every_process() -> None:
    """Torch takes layouts that cost the same in the order of a set. With its own hash of `Partial`, which differs from
    process to process, two processes of four took another layout of `index_add` than the other two, and all four waited for ever.
    """
    assert (hash(Partial()), hash(Partial("avg"))) == (3367870285, 484921998)


def differences(listed: list[str], ranks: list[object], share: tuple[int, int] = (0, 1)) -> list[str]:
    arguments = (listed, ranks, share)
    processes = 2 if isinstance(ranks[0], int) else 4
    workers = parallel.spawn(global_operators.differences, arguments, nprocs=processes)
    return [line for rank in range(processes) for line in workers.result(rank)]


def test_common_operators_over_two_processes() -> None:
    assert differences(texts(COMMON), [0, 1]) == []


@pytest.mark.slow
def test_a_part_of_an_open_sum_over_a_mesh() -> None:
    """A layout (partial_sum, split(0)), in which a part opens the split as well."""
    assert differences(["x[0]"], [[0, 1], [2, 3]], (6, 16)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("text", "layout"), [("x.view(2, 8)", 10), ("nn.PixelShuffle(2)(i)", 15)])
def test_views_of_what_both_dimensions_of_a_mesh_split(text: str, layout: int) -> None:
    """Layouts (split(0), split(0)) and (split(1), split(1)): the view's dimension is too short for them."""
    assert differences([text], [[0, 1], [2, 3]], (layout, 16)) == []


def pieces_on_a_mesh() -> list[list[list[float]]]:
    place, rank = flow.placement("cpu", [[0, 1], [2, 3]]), parallel.world().rank
    S, B = flow.sbp.split, flow.sbp.broadcast
    piece = flow.full((2, 1), float(rank))
    return [
        piece.to_global(place, layout).numpy().tolist()
        for layout in ([S(0), S(0)], [S(0), S(1)], [S(1), S(0)], [B, S(0)])
    ]


@pytest.mark.slow
def test_pieces_of_what_both_dimensions_of_a_mesh_split() -> None:
    """Recorded from OneFlow 0.9.0 on four processes."""
    workers = parallel.spawn(pieces_on_a_mesh, nprocs=4)
    for rank in range(4):
        assert workers.result(rank) == [
            [[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [3.0], [3.0]],
            [[0.0, 1.0], [0.0, 1.0], [2.0, 3.0], [2.0, 3.0]],
            [[0.0, 2.0], [0.0, 2.0], [1.0, 3.0], [1.0, 3.0]],
            [[0.0], [0.0], [1.0], [1.0]],
        ]


@pytest.mark.slow
def test_every_operator_over_two_processes() -> None:
    assert differences(global_operators.expressions(), [0, 1]) == []


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_every_operator_over_a_mesh(share: int) -> None:
    """Each run takes a quarter of the 16 layouts."""
    assert differences(global_operators.expressions(), [[0, 1], [2, 3]], (share, 4)) == []
