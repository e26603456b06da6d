"""Random programs with a GRU of torch: what they compute, or the error that they raise, whatever makes the layer fast."""

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp
from torch.nn.utils import parametrizations, prune
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence
from torch.utils.checkpoint import checkpoint

DTYPES = (torch.float32,) * 5 + (torch.float64,) * 2 + (torch.bfloat16, torch.float16)
FORMS = ("batch",) * 5 + ("one", "packed", "packed unsorted")
WAYS = ("plain",) * 6 + (
    "no grad", "inference", "autocast", "twice", "checkpoint", "functional", "gradient", "tangent", "step",
)  # fmt: skip


class Program:
    """A layer, what is done to it, and a few calls with what is wrong now and then; `run` gives all results of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        draw = self.random
        self.cell, self.sizes = draw.random() < 0.2, (draw.randint(1, 6), draw.randint(1, 7))
        self.dtype = draw.choice(DTYPES)
        self.options: dict[str, Any] = {"bias": draw.random() < 0.85}
        if not self.cell:
            self.options |= {
                "num_layers": draw.choice((1, 1, 2, 3)),
                "batch_first": draw.random() < 0.4,
                "bidirectional": draw.random() < 0.4,
                "dropout": draw.choice((0.0, 0.0, 0.0, 0.4)),
            }

    def layer(self) -> nn.Module:
        torch.manual_seed(1)
        kind = nn.GRUCell if self.cell else nn.GRU
        return kind(*self.sizes, **self.options, dtype=self.dtype)

    def run(self, make_fast: Callable[[nn.Module], object]) -> list[Any]:
        """Encoded results: tensors, and at the end an error's type and text."""
        self.random.seed(self.seed + 1)
        self.numbers = torch.Generator().manual_seed(self.seed)
        layer = self.layer()
        make_fast(layer)
        results: list[Any] = [repr(layer)]
        try:
            layer = self._changed(layer)
            for step in range(self.random.randint(1, 3)):
                torch.manual_seed(step)
                results += self._call(layer)
        except Exception as error:
            # The recomputation of a checkpoint names tensors by their addresses, which differ.
            text = "" if "torch.utils.checkpoint" in str(error) else str(error)
            results.append((type(error).__name__, text))
        return [*results, sorted(layer.state_dict())]

    def _changed(self, layer: nn.Module) -> nn.Module:
        draw = self.random
        for weight in layer.parameters():
            weight.requires_grad_(draw.random() > 0.06)
        layer.train(draw.random() < 0.5)
        name = "weight_hh" if self.cell else "weight_hh_l0"
        change = draw.choice(("none",) * 5 + ("weight norm", "prune", "copy", "pickle", "double"))
        if change == "weight norm":
            parametrizations.weight_norm(layer, name)
        if change == "prune":
            prune.l1_unstructured(layer, name, amount=0.3)
        if change == "double":
            self.dtype = torch.float64
            return layer.double()
        copied = {"copy": copy.deepcopy, "pickle": lambda each: pickle.loads(pickle.dumps(each))}
        return copied.get(change, lambda each: each)(layer)

    def _numbers(self, *shape: int) -> Tensor:
        """Random numbers, sometimes with a size, dtype or order of memory that does not fit or is unusual."""
        draw, sizes = self.random, list(shape)
        if draw.random() < 0.04:
            sizes[draw.randrange(len(sizes))] += 1
        found = torch.randn(*sizes, generator=self.numbers, dtype=torch.float64).to(self.dtype)
        if draw.random() < 0.04:
            found = found.to(draw.choice((torch.float32, torch.float64, torch.bfloat16, torch.int64)))
        if draw.random() < 0.15 and found.dim() > 1:
            found = found.transpose(0, -1).contiguous().transpose(0, -1)
        return found.requires_grad_(found.is_floating_point() and draw.random() < 0.6)

    def _input(self) -> tuple[Tensor, Any, Tensor | None]:
        """What may want a gradient, the layer's input, and its state."""
        draw, (features, hidden) = self.random, self.sizes
        form, batch, steps = draw.choice(FORMS), draw.choice((1, 2, 3, 5, 0)), draw.choice((1, 2, 4, 7))
        one, rows = form == "one", (() if form == "one" else (batch,))
        states = () if self.cell else (self.options["num_layers"] * (1 + self.options["bidirectional"]),)
        h = None if draw.random() < 0.4 else self._numbers(*states, *rows, hidden)
        if self.cell:
            x = self._numbers(*rows, features)
            return x, x, h
        first = self.options["batch_first"]
        x = self._numbers(*(() if one else rows if first else ()), steps, *(() if first else rows), features)
        if form.startswith("packed") and x.shape[0 if first else 1] == batch > 0:
            lengths = sorted((draw.randint(1, steps) for _ in range(batch)), reverse=True)
            if form == "packed unsorted":
                draw.shuffle(lengths)
            return x, pack_padded_sequence(x, lengths, first, enforce_sorted=form == "packed"), h
        return x, x, h

    def _call(self, layer: nn.Module) -> list[Any]:
        x, given, h = self._input()
        way, inputs = self.random.choice(WAYS), (given,) if h is None else (given, h)
        if way in ("no grad", "inference"):
            with torch.inference_mode(way == "inference"), torch.no_grad():
                return _tensors(layer(*inputs))
        if (
            way == "autocast"
        ):  # in its precision, for any dtype of the result: torch's float32 where a float16 layer is cast
            with torch.autocast("cpu", torch.bfloat16):
                return [each.bfloat16() for each in _tensors(layer(*inputs))]
        own = {name: weight.detach() for name, weight in layer.named_parameters()}
        if way == "functional":
            return _tensors(functional_call(layer, own, inputs))
        if way in ("gradient", "tangent") and isinstance(given, Tensor) and not getattr(layer, "dropout", 0.0):

            def value(own: dict[str, Tensor], x: Tensor) -> Tensor:
                return _loss(_tensors(functional_call(layer, own, (x, *inputs[1:]))))

            if way == "gradient":
                return list(grad(value)(own, given.detach()).values())
            tangent = jvp(lambda x: value(own, x), (given.detach(),), (torch.ones_like(given),))[1]
            return [tangent.to(self.dtype)]
        kept = way == "checkpoint" and isinstance(given, Tensor)
        results = _tensors(checkpoint(layer, *inputs, use_reentrant=False) if kept else layer(*inputs))
        loss = _loss(results)
        if not loss.requires_grad:
            return results
        wanted = [each for each in (x, h, *layer.parameters()) if each is not None and each.requires_grad]
        grads = torch.autograd.grad(loss, wanted, create_graph=way == "twice", allow_unused=True)
        found = [each for each in grads if each is not None]
        if way == "twice" and _loss(found).requires_grad:
            found += [each for each in torch.autograd.grad(_loss(found), wanted, allow_unused=True) if each is not None]
        if way == "step":
            with torch.no_grad():
                for weight, change in zip(wanted, grads, strict=True):
                    weight -= 0 if change is None else 0.01 * change
        return results + found


def _tensors(found: Any) -> list[Tensor]:
    if isinstance(found, Tensor):
        return [found]
    return [found.data] if isinstance(found, PackedSequence) else [each for part in found for each in _tensors(part)]


def _loss(tensors: list[Tensor]) -> Tensor:
    """A number in float64. Its derivatives with respect to the elements all differ."""
    return torch.stack(
        [
            (each.double() * torch.linspace(-1, 1, each.numel(), dtype=torch.float64).view(each.shape)).sum()
            for each in tensors
        ]
    ).sum()
