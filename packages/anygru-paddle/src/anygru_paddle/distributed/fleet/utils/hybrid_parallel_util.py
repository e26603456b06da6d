"""`fused_allreduce_gradients`, for loops that average gradients themselves."""

from typing import Any

from anygru.parallel import average_gradients

from ...communication.group import global_group


def fused_allreduce_gradients(parameter_list: Any, hcg: Any) -> None:
    """Replace each parameter's gradient by its mean over the processes, in few all-reduces.

    Args:
        parameter_list: the same parameters on every process; parameters without a gradient are skipped.
        hcg: None, for all processes. Paddle's topology of several kinds of parallelism is not covered.

    Raises:
        RuntimeError: on a single process, which has no group.
        ModelMismatchError: (a ValueError) if a parameter has a gradient on some processes only.
    """
    if hcg is not None:
        raise NotImplementedError("fused_allreduce_gradients: hcg must be None; anygru covers data parallelism only")
    average_gradients(parameter_list, global_group().process_group)
