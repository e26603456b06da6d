"""The base of callbacks, which `paddle.Model` calls while it trains, evaluates and predicts."""

from typing import Any

Logs = dict[str, Any] | None


class Callback:
    """The base of callbacks: every method does nothing. `model` and `params` are set before the first call."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Keep the loop's options: 'epochs', 'steps', 'verbose', 'metrics', 'batch_size'."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Keep the `paddle.Model`."""
        self.model = model

    def on_train_begin(self, logs: Logs = None) -> None:
        """Before training."""

    def on_train_end(self, logs: Logs = None) -> None:
        """After training."""

    def on_eval_begin(self, logs: Logs = None) -> None:
        """Before an evaluation."""

    def on_eval_end(self, logs: Logs = None) -> None:
        """After an evaluation."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Before a prediction."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """After a prediction."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Before an epoch of training."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """After an epoch of training."""

    def on_train_batch_begin(self, step: int, logs: Logs = None) -> None:
        """Before a batch of training."""

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        """After a batch of training."""

    def on_eval_batch_begin(self, step: int, logs: Logs = None) -> None:
        """Before a batch of an evaluation."""

    def on_eval_batch_end(self, step: int, logs: Logs = None) -> None:
        """After a batch of an evaluation."""

    def on_predict_batch_begin(self, step: int, logs: Logs = None) -> None:
        """Before a batch of a prediction."""

    def on_predict_batch_end(self, step: int, logs: Logs = None) -> None:
        """After a batch of a prediction."""
