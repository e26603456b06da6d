"""TorchRL's GRUModule on anygru: trajectories that end inside a batch are resets, and not rows of a padded batch.

from anygru.patching.torchrl import GRUModule
"""

from typing import Any

import torch
from torch import Tensor, nn

from ..layers.from_torch import from_torch
from ..layers.gru import GRU

try:
    from torchrl.modules import GRUModule as _GRUModule
except ImportError as error:
    raise ImportError("anygru.patching.torchrl needs TorchRL: pip install torchrl") from error

if not hasattr(_GRUModule, "_gru_triton_with_resets"):
    raise ImportError(
        "anygru.patching.torchrl needs a newer TorchRL, with GRUModule(recurrent_backend=...): 0.14 was tested"
    )


class GRUModule(_GRUModule):  # type: ignore[misc]  # TorchRL has no types
    """As `torchrl.modules.GRUModule`, computed by an `anygru.GRU`.

    TorchRL cuts a batch [B, T] at each `is_init`, pads the trajectories, computes, and puts them together again. Here the batch
    stays whole. Before a step with `is_init` the state becomes that step's recurrent state, which is 0 in most programs.

    Args:
        input_size, hidden_size, num_layers, bias, dropout: as for `anygru.GRU`.
        gru: a layer in the place of these, of anygru or torch, with batch_first=True; it shares its parameters.
        options: further arguments of `anygru.GRU`, such as reset="before" or norm="layer".
        device: of the parameters.
        keys: in_key, in_keys, out_key, out_keys and default_recurrent_mode, as for TorchRL's.

    Raises:
        ValueError: a bidirectional layer, whose second direction would read the next trajectory first.
    """

    def __init__(
        self,
        input_size: int | None = None,
        hidden_size: int | None = None,
        num_layers: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        *,
        gru: GRU | nn.GRU | None = None,
        options: dict[str, Any] | None = None,
        device: torch.device | str | int | None = None,
        **keys: Any,
    ) -> None:
        if gru is None:
            if input_size is None or hidden_size is None:
                raise ValueError("GRUModule needs input_size and hidden_size, or gru")
            gru = GRU(input_size, hidden_size, num_layers, bias, True, dropout, device=device, **(options or {}))
        elif input_size is not None or hidden_size is not None or options:
            raise ValueError("gru comes instead of input_size, hidden_size and options, got both")
        layer = from_torch(gru)
        if layer.bidirectional:
            raise ValueError("gru must not be bidirectional: states are reset at the start of a trajectory only")
        super().__init__(gru=layer, **keys)
        self.recurrent_backend = "triton"  # TorchRL's name for a kernel that gets whole batches and `is_init`

    def _gru_triton_with_resets(self, input: Tensor, hidden_in: Tensor, is_init: Tensor) -> tuple[Tensor, Tensor]:
        """The output [B, T, H] and the states [B, T, L, H], 0 except at the end of a trajectory.

        Args:
            input: [B, T, I].
            hidden_in: [B, T, L, H], the states before each step; read at the first step and where is_init is true.
            is_init: [B, T].
        """
        is_init = is_init.bool()
        initial = hidden_in.movedim(2, 0)  # [L, B, T, H]
        states = initial if bool((hidden_in * is_init[..., None, None]).any()) else None
        output, _, found = self.gru(
            input, initial[:, :, 0].contiguous(), resets=is_init, reset_states=states, return_states=True
        )
        is_last = torch.ones_like(is_init)
        is_last[:, :-1] = is_init[:, 1:]
        return output, found.movedim(0, 2).masked_fill(~is_last[..., None, None], 0.0)
