"""DreamerV3's recurrent cell: block-diagonal layers, RMS norm, SiLU, and a GRU's gates with an update bias of -1.

    python examples/dreamer_cell.py

Hafner et al. 2023, arXiv:2301.04104; the formula is that of `RSSM._core` in github.com/danijar/dreamerv3. With h the state in G
blocks h_g, and block layers W that are a matrix for each block:

    y    = [silu(rms(W_k x_k + b_k))  for each input k, and for the whole state h]
    u_g  = [h_g, y]                                                      every block reads all of y
    u    = silu(rms(W u + b))                                            `layers` times, block by block
    r, c, z = W_g u_g + b_g
    h'_g = s(z - 1) * tanh(s(r) * c) + (1 - s(z - 1)) * h_g

The reset gate multiplies the whole candidate, and gates read a layer above the state, so this is neither of the formulas of
`anygru.GRU`. `anygru.GRU(..., groups=G)` is the block-diagonal GRU without these layers, whose gates read state and input: it is
faster, has native kernels, and takes the bias as `update_bias`.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import anygru


class BlockLinear(nn.Module):
    """A matrix for each of G consecutive parts of the features."""

    def __init__(self, inputs: int, outputs: int, blocks: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(blocks, outputs // blocks, inputs // blocks))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.trunc_normal_(self.weight, std=(blocks / inputs) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        parts = x.unflatten(-1, (len(self.weight), -1))
        return torch.einsum("...gi,goi->...go", parts, self.weight).flatten(-2) + self.bias


class DreamerCell(nn.Module):
    """One step: the state [B, deter] after inputs [B, I_k] from a state [B, deter].

    Args:
        inputs: the features I_k of each input (DreamerV3 has the stochastic state and the action).
        deter: units of the state.
        hidden: units that each input, and the state, is projected to.
        blocks: G, of which deter is a multiple.
        layers: block layers before the gates.
    """

    def __init__(self, inputs: Sequence[int], deter: int, hidden: int, blocks: int = 8, layers: int = 1) -> None:
        super().__init__()
        self.blocks = blocks
        self.project = nn.ModuleList(
            nn.Sequential(nn.Linear(size, hidden), nn.RMSNorm(hidden, eps=1e-4), nn.SiLU()) for size in (deter, *inputs)
        )
        width = deter + blocks * hidden * (1 + len(inputs))
        sizes = [width, *[deter] * layers]
        self.hidden = nn.Sequential(
            *(
                nn.Sequential(BlockLinear(size, deter, blocks), nn.RMSNorm(deter, eps=1e-4), nn.SiLU())
                for size in sizes[:layers]
            )
        )
        self.gates = BlockLinear(sizes[-1], 3 * deter, blocks)

    def forward(self, inputs: Sequence[Tensor], h: Tensor) -> Tensor:
        read = torch.cat([layer(x) for layer, x in zip(self.project, (h, *inputs), strict=True)], -1)
        own = h.unflatten(-1, (self.blocks, -1))
        every = read.unsqueeze(-2).expand(*own.shape[:-1], -1)
        found = self.gates(self.hidden(torch.cat((own, every), -1).flatten(-2)))
        r, c, z = (gate.flatten(-2) for gate in found.unflatten(-1, (self.blocks, 3, -1)).unbind(-2))
        update = torch.sigmoid(z - 1)
        return update * torch.tanh(torch.sigmoid(r) * c) + (1 - update) * h


def block_gru(inputs: int, deter: int, blocks: int) -> anygru.GRU:
    """The block-diagonal GRU of anygru, which begins with keeping most of its state, as DreamerV3's does.

    anygru blends z * h + (1 - z) * n, so the bias of its update gate is +1.
    """
    return anygru.GRU(inputs, deter, groups=blocks, update_bias=1.0)


def main() -> None:
    torch.manual_seed(0)
    cell = DreamerCell([1024, 6], 512, 256)
    stochastic, action = torch.randn(16, 1024), torch.randn(16, 6)
    h = cell([stochastic, action], torch.zeros(16, 512))
    print(f"DreamerV3's cell: {tuple(h.shape)}, {sum(p.numel() for p in cell.parameters()):,} parameters")
    layer = block_gru(1030, 512, 8)
    read = F.silu(torch.cat((stochastic, action), -1))
    output, _ = layer(read.unsqueeze(0))
    print(f"block GRU: {tuple(output.shape)}, {sum(p.numel() for p in layer.parameters()):,} parameters")


if __name__ == "__main__":
    main()
