"""The options of a graph. Most choose among ways to the same numbers, and are accepted."""

from ...framework.dtype import dtype, float16

# Options for how OneFlow compiles, places or moves tensors, which change no number.
_WITHOUT_EFFECT = (
    "allow_fuse_add_to_output", "allow_fuse_cast_scale", "allow_fuse_model_update_ops",
    "disable_straighten_algorithm", "enable_auto_parallel", "enable_auto_parallel_ignore_user_sbp_config",
    "enable_auto_parallel_sbp_collector", "enable_auto_parallel_trunk_algo", "enable_compress_memory",
    "enable_cudnn_conv_heuristic_search_algo", "enable_fused_model_update_cast", "enable_multi_tensor_update",
    "enable_straighten_algorithm", "enable_zero", "set_auto_parallel_computation_cost_ratio",
    "set_auto_parallel_wait_time", "set_outputs_buffer_size", "set_zero_redundancy_optimizer_mode",
)  # fmt: skip


class GraphConfig:
    """The options of a graph.

    Attributes:
        training: whether the graph has an optimizer.
        accumulation: the number of parts of a batch; a step uses the mean of their gradients.
        amp: the type of mixed precision on a GPU; None: none. On the CPU OneFlow computes in the tensors' own types.
    """

    training = False
    accumulation = 1
    amp: dtype | None = None

    def enable_amp(self, mode: bool = True, *, dtype: dtype = float16) -> None:
        """Compute in mixed precision on a GPU."""
        assert dtype.is_floating_point, f"enable_amp: dtype must be a floating-point type, got {dtype}"
        self.amp = dtype if mode else None

    def set_gradient_accumulation_steps(self, value: int) -> None:
        """Cut each batch into this number of parts along its first dimension, and step by their mean gradient."""
        if value < 1:
            raise ValueError(f"set_gradient_accumulation_steps: value must be at least 1, got {value}")
        self.accumulation = value

    def __repr__(self) -> str:
        return f"(CONFIG:config:GraphConfig(training={self.training}, ))"


def _accepted(self: GraphConfig, *arguments: object, **keywords: object) -> None:
    """Accepted: it makes no difference to numbers."""


for _name in _WITHOUT_EFFECT:
    setattr(GraphConfig, _name, _accepted)
