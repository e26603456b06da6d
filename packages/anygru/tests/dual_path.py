"""A model of the kind that denoises speech: convolutions along time and frequency, and GRUs along both."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad


class Block(nn.Module):
    """A causal convolution of half of the channels, which are weighted by a GRU along time and shuffled."""

    def __init__(self, channels: int, dilation: int, transposed: bool = False) -> None:
        super().__init__()
        self.past = 2 * dilation
        kind = nn.ConvTranspose2d if transposed else nn.Conv2d
        self.unfold = nn.Unfold((1, 3), padding=(0, 1))
        half = channels // 2
        self.point = kind(3 * half, channels, 1)
        self.norm = nn.BatchNorm2d(channels)
        self.slope = nn.PReLU(channels)
        padding = (self.past if transposed else 0, 1)
        self.depth = kind(channels, channels, 3, padding=padding, dilation=(dilation, 1), groups=channels)
        self.last = kind(channels, half, 1)
        self.weight = nn.GRU(half, channels, batch_first=True)
        self.gate = nn.Linear(channels, half)

    def forward(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, 1)
        patches = self.unfold(first).reshape(x.shape[0], -1, x.shape[2], x.shape[3])
        inner = self.slope(self.norm(self.point(patches)))
        inner = self.last(torch.relu(self.depth(pad(inner, (0, 0, self.past, 0)))))
        power = inner.pow(2).mean(-1).transpose(1, 2)
        inner = inner * torch.sigmoid(self.gate(self.weight(power)[0])).transpose(1, 2)[..., None]
        return torch.stack((inner, second), 2).flatten(1, 2)


class DualPath(nn.Module):
    """A bidirectional GRU along the frequencies of a frame, and another along time for each frequency."""

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.inside = nn.GRU(channels, channels // 2, bidirectional=True, batch_first=True)
        self.mix = nn.Linear(channels, channels)
        self.norm = nn.LayerNorm((width, channels))
        self.along = nn.GRU(channels, channels, num_layers=2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, steps, width = x.shape
        x = x.permute(0, 2, 3, 1)
        y = self.inside(x.reshape(batch * steps, width, channels), torch.zeros(2, batch * steps, channels // 2))[0]
        x = x + self.norm(self.mix(y).reshape(batch, steps, width, channels))
        y = self.along(x.permute(0, 2, 1, 3).reshape(batch * width, steps, channels))[0]
        return (x + y.reshape(batch, width, steps, channels).permute(0, 2, 1, 3)).permute(0, 3, 1, 2)


class Denoiser(nn.Module):
    """[B, F, T, 2], real and imaginary parts of a spectrum, to the same."""

    def __init__(self, bins: int = 17, channels: int = 4) -> None:
        super().__init__()
        width = (bins + 1) // 2
        self.front = nn.Conv2d(3, channels, (1, 5), stride=(1, 2), padding=(0, 2))
        self.norm = nn.BatchNorm2d(channels)
        self.down = Block(channels, 2)
        self.paths = nn.Sequential(DualPath(width, channels), DualPath(width, channels))
        self.up = Block(channels, 3, transposed=True)
        self.back = nn.ConvTranspose2d(channels, 2, (1, 5), stride=(1, 2), padding=(0, 2))

    def forward(self, spectrum: Tensor) -> Tensor:
        real, imaginary = spectrum.permute(0, 3, 2, 1).unbind(1)
        features = torch.stack((torch.sqrt(real**2 + imaginary**2 + 1e-12), real, imaginary), 1)
        first = torch.tanh(self.norm(self.front(features)))
        second = self.down(first)
        mask = torch.tanh(self.back(self.up(self.paths(second) + second) + first))
        found = (real * mask[:, 0] - imaginary * mask[:, 1], imaginary * mask[:, 0] + real * mask[:, 1])
        return torch.stack(found, 1).permute(0, 3, 2, 1)


def denoiser() -> Denoiser:
    """A model with random weights and statistics."""
    torch.manual_seed(0)
    model = Denoiser().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -1, 1)
            nn.init.uniform_(module.running_var, 0.5, 2)
    return model


class Frames(nn.Module):
    """Each frame [F, 3] of [B, T, F, 3] through a GRU with dropout and a frozen norm, then a GRU along time."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.GRU(3, 4, 2, dropout=0.5, batch_first=True)
        self.norm = nn.BatchNorm1d(4).eval()
        self.outer = nn.GRU(4, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 4:
            raise ValueError("no frames")
        frames = self.norm(self.inner(x.flatten(0, 1))[0][:, -1])
        return self.outer(frames.unflatten(0, x.shape[:2]))[0]
