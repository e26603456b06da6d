"""Extensions for several processes."""

from typing import Any

from ..training.extensions.evaluator import Evaluator
from .communicators import CommunicatorBase


def create_multi_node_evaluator(actual_evaluator: Evaluator, communicator: CommunicatorBase) -> Any:
    """The evaluator, changed so that its results are the means over all processes."""
    local_evaluate = actual_evaluator.evaluate

    def evaluate() -> dict[str, Any]:
        results = communicator.allgather_obj({key: float(value) for key, value in local_evaluate().items()})
        return {key: sum(result[key] for result in results) / len(results) for key in sorted(results[0])}

    actual_evaluator.evaluate = evaluate  # type: ignore[method-assign]
    return actual_evaluator
