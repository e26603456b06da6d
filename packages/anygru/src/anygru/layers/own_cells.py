"""`CellLayer`: a cell that its user wrote, in every form of batch, several layers and directions, with resets and streams."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ArgumentError, ArgumentTypeError
from ..facts import sequences
from ..facts.arguments import check_dropout, check_state, check_state_type
from ..facts.decays import PerStep, join
from ..facts.formula import Formula
from ..facts.problem import Options
from ..facts.sequences import Batch, Lengths
from ..facts.weights import Layout
from ..functional import align_dense
from ..operator.cell_loops import Steps, run
from .shared import check_flag, check_size, choose_state
from .stream import Stream


class CellLayer(nn.Module):
    """Layers of your own cell, called as `GRU` is.

    Args:
        make_cell: `make_cell(input_size, hidden_size)`, called once for each layer and direction, returns the cell, a module.
            `forward(x, h)` of a cell returns the state [B, H] after the step x [B, I], from the state h [B, H]. A cell may have
            `of_input(input)`, which computes the input's part of all steps in one call, [T, B, I] to [T, B, F]; x is then a row
            [B, F] of the result. A cell that is linear in its state, h' = a * h + b, needs `coefficients(input)` only: a and b,
            [T, B, H] each. All its steps are computed at once.
        input_size, hidden_size, num_layers, batch_first, dropout, bidirectional: as of `GRU`.
        compile: whether torch may compile the steps, which takes up to minutes in the first call with 10 steps and more. Without
            a compiler (on a GPU: Triton) they run in Python, as does the training of a cell that draws random numbers.

    Raises:
        ArgumentError, ArgumentTypeError: naming the argument.

    Example:
        >>> layer = anygru.CellLayer(torch.nn.GRUCell, 3, 4, bidirectional=True)
        >>> output, h_n = layer(torch.randn(5, 2, 3))
        >>> tuple(output.shape), tuple(h_n.shape)
        ((5, 2, 8), (2, 2, 4))
    """

    def __init__(
        self,
        make_cell: Callable[[int, int], nn.Module],
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        compile: bool = True,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.num_layers, self.dropout = check_size("num_layers", num_layers), check_dropout(dropout)
        self.batch_first = check_flag("batch_first", batch_first)
        self.bidirectional = check_flag("bidirectional", bidirectional)
        self.compile_steps = check_flag("compile", compile)
        layout = self._layout
        above = layout.directions() * hidden_size
        self.cells = nn.ModuleList()
        for place in range(layout.states()):
            cell = make_cell(input_size if place < layout.directions() else above, hidden_size)
            if not isinstance(cell, nn.Module):
                raise ArgumentTypeError(f"make_cell must return a torch.nn.Module, got {type(cell).__name__}")
            self.cells.append(cell)

    @property
    def _layout(self) -> Layout:
        return Layout(self.num_layers, self.bidirectional)

    def forward(
        self,
        input: Batch,
        h_0: Tensor | None = None,
        lengths: Lengths | None = None,
        resets: PerStep | None = None,
        decay: PerStep | None = None,
        reset_states: PerStep | None = None,
        hx: Tensor | None = None,
    ) -> tuple[Any, Tensor]:
        """The outputs in the input's own form, and the state after each sequence's last step.

        Args and results: as `GRU.forward`. A ragged batch is computed as a padded batch; the padding does not change
        results.

        Raises:
            ArgumentError, ArgumentTypeError: naming the argument; also for a cell that returns another shape than its state's.
        """
        h_0 = h_0 if hx is None else choose_state(h_0, hx, "h_0")
        if h_0 is not None:
            check_state_type(h_0, "h_0")
        sizes, given = (self._layout, self.hidden_size), (resets, decay, reset_states)
        if not isinstance(input, Tensor) or input.is_nested or lengths is not None:
            rows = sequences.enter(input, lengths, self.batch_first)
            dimensions = input.dim() - 1 if isinstance(input, Tensor) and not input.is_nested else 1
            decays, _, _, _, offset = join(*given, rows.align, sizes, rows.data, dimensions)
            total, batch = len(rows.batch_sizes), rows.batch
            runs = (torch.arange(batch) < rows.batch_sizes.unsqueeze(1)).to(rows.data.device)  # [T, B]
            places = runs.flatten().nonzero().flatten()

            def padded(values: Tensor) -> Tensor:
                wide = values.new_zeros((total * batch, *values.shape[1:])).index_copy(0, places, values)
                return wide.view(total, batch, *values.shape[1:])

            steps = Steps(padded(rows.data), runs.unsqueeze(-1))
            each = [None if one is None else padded(one.transpose(0, 1)).movedim(2, 0) for one in (decays, offset)]
            h_0 = self._state(steps.rows, h_0)
            output, h_n = self._layers(steps, rows.sort_state(h_0), each)
            return rows.restore(output.flatten(0, 1).index_select(0, places)), rows.unsort_state(h_n)
        if input.dim() not in (2, 3):
            raise ArgumentError(f"input must have 2 or 3 dimensions, got {list(input.shape)}")
        decays, _, _, _, offset = join(*given, align_dense(input, self.batch_first), sizes, input, input.dim() - 1)
        if input.dim() == 2:
            h_0 = None if h_0 is None else h_0.unsqueeze(1)
            output, h_n = self._layers(
                Steps(input.unsqueeze(1)), self._state(input.unsqueeze(1), h_0), (decays, offset)
            )
            return output.squeeze(1), h_n.squeeze(1)
        turned = input.transpose(0, 1) if self.batch_first else input
        output, h_n = self._layers(Steps(turned), self._state(turned, h_0), (decays, offset))
        return output.transpose(0, 1) if self.batch_first else output, h_n

    def _state(self, rows: Tensor, h_0: Tensor | None) -> Tensor:
        """The initial state [L*D, B, H] of a batch [T, B, I]."""
        if rows.shape[-1] != self.input_size:
            raise ArgumentError(f"input must have I = {self.input_size} features, got {rows.shape[-1]}")
        shapes = tuple((self._layout.states(), batch, self.hidden_size) for batch in (rows.shape[1], 1))
        if h_0 is None:
            return rows.new_zeros(shapes[0])
        check_state(h_0, "h_0", "[L*D, B, H]", shapes, rows)
        return h_0.expand(shapes[0])

    def _layers(self, steps: Steps, h_0: Tensor, each: Any, dropout: float | None = None) -> tuple[Tensor, Tensor]:
        final: list[Tensor] = []
        dropout = self.dropout if dropout is None else dropout
        for layer in range(self.num_layers):
            if layer and dropout and self.training:
                steps = steps._replace(rows=F.dropout(steps.rows, dropout))
            outputs = []
            for direction in range(self._layout.directions()):
                own = [None if one is None else one[min(len(final), len(one) - 1)] for one in each]
                present = steps._replace(decay=own[0], offset=own[1])
                output, last = self._direction(present, h_0[len(final)], len(final), direction)
                outputs.append(output)
                final.append(last)
            steps = steps._replace(rows=torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0])
        output = steps.rows if steps.runs is None else torch.where(steps.runs, steps.rows, 0.0)
        return output, torch.stack(final)

    def _direction(self, steps: Steps, h: Tensor, place: int, direction: int) -> tuple[Tensor, Tensor]:
        cell: Any = self.cells[place]
        of_input = getattr(cell, "of_input", None)
        steps = steps if of_input is None else steps._replace(rows=of_input(steps.rows))
        output, last = run(cell, steps.turned() if direction else steps, h, self.compile_steps)
        return output.flip(0) if direction else output, last

    # The interface that `Stream` needs.

    def stream(self, batch_size: int | None = None) -> "CellStream":
        """A stream that runs this layer one step or one chunk at a time and keeps the state; see `GRU.stream`.

        It reads the parameters at every call. In the mode of the layer, but without dropout and gradients.

        Raises:
            ArgumentError: the layer is bidirectional, or batch_size is negative.
        """
        return CellStream(self, batch_size)  # type: ignore[arg-type]

    def stream_weights(self) -> list[Tensor]:
        """The layer's parameters, or an empty tensor if it has no parameters."""
        return [*self.parameters(), torch.empty(0)][:1]

    def stream_options(self) -> Options:
        """As `options`; the stream's own `_advance` reads none."""
        return self.options

    @property
    def options(self) -> Options:
        """The options of a layer that is not a GRU."""
        return Options(Formula(), batch_first=self.batch_first)


class CellStream(Stream):
    """A `Stream` of a `CellLayer`."""

    def _prepare(self) -> None:
        self._prepared = self._native = self._native_rows = None

    @torch.no_grad()
    def _advance(self, steps: Tensor, resets: Tensor | None = None, reset_states: Tensor | None = None) -> Tensor:
        layer: Any = self.layer
        sizes = (layer._layout, layer.hidden_size)
        decay, _, _, _, offset = join(resets, None, reset_states, align_dense(steps, False), sizes, steps, 2)
        output, self._state = layer._layers(Steps(steps), self._state, (decay, offset), 0.0)
        assert isinstance(output, Tensor)
        return output
