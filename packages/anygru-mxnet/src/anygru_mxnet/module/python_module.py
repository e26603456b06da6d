"""`mx.mod.PythonModule`, `PythonLossModule`: modules in Python, without a symbol, for chains of modules."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ..batches import DataBatch
from ..metric import EvalMetric
from ..ndarray import array
from ..ndarray.ndarray import NDArray
from .base_module import BaseModule


class PythonModule(BaseModule):
    """A module without parameters. A subclass defines the computation.

    Args:
        data_names, label_names: names of the inputs. output_names: names of the outputs.
    """

    def __init__(
        self, data_names: Sequence[str], label_names: Sequence[str] | None, output_names: list, logger: Any = logging
    ) -> None:
        super().__init__(logger)
        self.data_names, self.output_names = list(data_names), output_names
        self._label_names = None if label_names is None else list(label_names)
        self.data_shapes = self.label_shapes = self.output_shapes = None

    def bind(
        self,
        data_shapes: list,
        label_shapes: list | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str = "write",
    ) -> None:
        """Store the inputs' shapes.

        As in MXNet 1.9.1 `binded` stays False (recorded), so that each call has an effect.
        """
        assert grad_req == "write", "Python module only support write gradient"
        assert [d[0] for d in data_shapes] == self.data_names, f"data must be {self.data_names}"
        assert label_shapes is None or [d[0] for d in label_shapes] == self._label_names, (
            f"labels must be {self._label_names}"
        )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.data_shapes, self.label_shapes = data_shapes, label_shapes
        self.output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> list:
        raise NotImplementedError("a subclass of PythonModule must define _compute_output_shapes")

    def get_params(self) -> tuple[dict, dict]:
        """Two empty dicts."""
        return {}, {}

    def init_params(self, *_: Any, **__: Any) -> None:
        """Do nothing, because the module has no parameters."""

    def init_optimizer(self, *_: Any, **__: Any) -> None:
        """Do nothing, because the module has no parameters."""

    def update(self) -> None:
        """Do nothing, because the module has no parameters."""

    def update_metric(self, eval_metric: EvalMetric, labels: list, pre_sliced: bool = False) -> None:
        """Update a metric with the outputs and these labels, if the module takes labels.

        Raises:
            RuntimeError: for labels of several contexts.
        """
        if self.label_shapes is None:
            return
        if pre_sliced:
            raise RuntimeError("PythonModule does not support presliced labels")
        eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss at the end of a chain. Its outputs are its inputs, the scores; `grad_func(scores, labels)` is their gradient."""

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        assert len(data_names) == len(label_names) == 1, "PythonLossModule: one input and one label"
        assert grad_func is None or callable(grad_func), "PythonLossModule: grad_func must be a function"
        self._grad_func = grad_func
        self._scores: NDArray | None = None
        self._labels: NDArray | None = None
        self._scores_grad: NDArray | None = None

    def _compute_output_shapes(self) -> list:
        assert self.data_shapes is not None
        return [(self.output_names[0], self.data_shapes[0][1])]

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Store the scores, and in training the labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            assert data_batch.label, "PythonLossModule: a batch without labels"
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """The scores."""
        assert merge_multi_context
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradient of the scores."""
        assert out_grads is None, "For a loss module, out_grads should be None"
        assert self.for_training, "backward: bind with for_training=True"
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError("PythonLossModule: give a grad_func, or define _backward_impl in a subclass")
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, NDArray) else array(gradient)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The gradient of the scores."""
        assert merge_multi_context
        return [self._scores_grad]
