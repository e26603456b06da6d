"""Random programs with a GRU: every option mixed, and the answer of each, step by step in plain torch in float64."""

import random
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence

import anygru
from anygru.facts.formula import ACTIVATIONS

FORMS = ("dense", "batch first", "one", "lengths", "packed", "list", "nested")
ONE_WAY = FORMS[:3]
"""Forms in which all sequences have all steps, so that time can be cut."""


class _Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, most: float) -> Tensor:
        ctx.most = most
        return h.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0].clamp(-ctx.most, ctx.most), None


class Program(NamedTuple):
    """A layer's arguments, the form of its batch, and tensors in float64; states [S, B, H] or [S, T, B, H], S = L*D."""

    arguments: dict[str, Any]
    form: str
    lengths: list[int]
    x: Tensor
    h_0: Tensor | None
    resets: Tensor | None
    reset_states: Tensor | None
    decay: Tensor | None
    return_states: bool

    @classmethod
    def draw(cls, seed: int, forms: tuple[str, ...] = FORMS, one_way: bool = False) -> "Program":
        pick = random.Random(seed)
        make = torch.Generator().manual_seed(seed)

        def values(*shape: int) -> Tensor:
            return torch.randn(shape, generator=make, dtype=torch.float64)

        groups = pick.choice((1, 1, 1, 2, 3))
        splits = groups > 1 and pick.random() < 0.5
        hidden = groups * pick.choice((1, 2, 3, 5, 8, 17))
        features = groups * pick.randint(1, 5) if splits else pick.choice((1, 2, 3, 7, 16))
        arguments = {
            "input_size": features,
            "hidden_size": hidden,
            "num_layers": pick.choice((1, 1, 2, 3)),
            "bidirectional": pick.random() < 0.4 and not one_way,
            "bias": pick.random() < 0.8,
            "reset": pick.choice(("after", "after", "before")),
            "norm": pick.choice((None, None, "layer")),
            "zoneout": pick.choice((0.0, 0.0, 0.3)),
            "groups": groups,
            "input_groups": groups if splits else 1,
            "gradient_clipping": pick.choice((None, None, 0.02, 3.0)),
            "batch_first_states": pick.random() < 0.3,
        }
        if pick.random() < 0.2:
            arguments["activation"] = pick.choice(list(ACTIVATIONS))
            arguments["gate_activation"] = pick.choice(("sigmoid", "hardsigmoid"))
        form = pick.choice(forms)
        steps, batch = pick.choice((1, 2, 5, 9)), 1 if form == "one" else pick.choice((1, 2, 3, 5, 17))
        ragged = form in FORMS[3:]
        lengths = [
            pick.randint(0 if form in ("lengths", "list") else 1, steps) if ragged else steps for _ in range(batch)
        ]
        if ragged:
            lengths[pick.randrange(batch)] = steps
        states = arguments["num_layers"] * (2 if arguments["bidirectional"] else 1)
        h_0 = pick.choice((None, values(states, batch, hidden), values(states, 1, hidden)))
        resets = reset_states = decay = None
        if pick.random() < 0.4:
            resets = torch.rand(steps, batch, generator=make) < 0.35
            reset_states = pick.choice((None, values(states, steps, batch, hidden), values(states, 1, hidden)))
        if pick.random() < 0.35:
            decay = (
                torch.rand(states, steps, batch, pick.choice((1, hidden)), generator=make, dtype=torch.float64) * 1.4
            )
        returns = pick.random() < 0.3
        return cls(arguments, form, lengths, values(steps, batch, features), h_0, resets, reset_states, decay, returns)

    @property
    def states(self) -> int:
        return self.arguments["num_layers"] * (2 if self.arguments["bidirectional"] else 1)

    def layer(self, dtype: torch.dtype = torch.float64, **changes: Any) -> anygru.GRU:
        """In eval mode, with weights from this program's own generator."""
        torch.manual_seed(0)
        made = anygru.GRU(
            **{**self.arguments, "batch_first": self.form == "batch first", **changes}, dtype=torch.float64
        )
        make = torch.Generator().manual_seed(len(self.lengths) + self.x.shape[0])
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=make, dtype=torch.float64), alpha=0.3)
        return made.to(dtype).eval()

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that require a gradient, by the argument's name; input is x."""
        named = {"x": self.x, "h_0": self.h_0, "reset_states": self.reset_states, "decay": self.decay}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def leaves(self) -> dict[str, Tensor]:
        """`tensors`, as leaves that require gradients."""
        return {name: tensor.clone().requires_grad_() for name, tensor in self.tensors().items()}

    def without(self, *names: str) -> "Program":
        """The program with the defaults of these options."""
        usual = {
            "gradient_clipping": None,
            "norm": None,
            "zoneout": 0.0,
            "activation": "tanh",
            "gate_activation": "sigmoid",
        }
        return self._replace(arguments={**self.arguments, **{name: usual[name] for name in names}})

    def part(self, tensors: dict[str, Tensor], steps: slice) -> tuple["Program", dict[str, Tensor]]:
        """The program of some steps, and its tensors but h_0."""
        given = {"x": tensors["x"][steps]}
        for name in ("decay", "reset_states"):
            if name in tensors:
                given[name] = tensors[name] if tensors[name].dim() == 3 else tensors[name][:, steps]
        resets = None if self.resets is None else self.resets[steps]
        return self._replace(x=given["x"], resets=resets, lengths=[len(given["x"])] * len(self.lengths)), given

    def stream_keywords(self, tensors: dict[str, Tensor], one: bool, single: bool) -> dict[str, Tensor]:
        """Arguments of a stream: without a batch if `one`, and without time for a single step."""
        if self.resets is None:
            return {}
        resets = self.resets[:, 0] if one else self.resets
        found = {"resets": resets[0] if single else resets}
        if "reset_states" in tensors:
            stored = tensors["reset_states"]
            if stored.dim() == 3:
                stored = stored[:, 0] if one and single else stored
            else:
                stored = stored[:, :, 0] if one else stored
                stored = stored[:, 0] if single else stored
            found["reset_states"] = stored
        return found

    def told(self) -> str:
        """For the message of a failure."""
        shapes = {name: tuple(tensor.shape) for name, tensor in self.tensors().items()}
        return f"{self.form}, {self.lengths}, {self.arguments}, {shapes}, resets: {self.resets is not None}"

    # The caller's form.

    def enter(self, values: Tensor, garbage: float = float("nan")) -> Any:
        """[T, B, ...] in the form of the batch; what lies past a sequence's end in a padded tensor must not be read."""
        if self.form == "dense":
            return values
        if self.form == "batch first":
            return values.transpose(0, 1)
        if self.form == "one":
            return values.squeeze(1)
        parts = [values[:length, b] for b, length in enumerate(self.lengths)]
        if self.form == "lengths":
            past = torch.arange(len(values)).unsqueeze(1) >= torch.tensor(self.lengths)
            if values.dtype is torch.bool:
                return values | past
            return values.masked_fill(past.view(*past.shape, *(1,) * (values.dim() - 2)), garbage)
        if self.form == "packed":
            return pack_sequence(parts, enforce_sorted=False)
        if self.form == "nested":
            return torch.nested.as_nested_tensor(parts, layout=torch.jagged)
        return parts

    def enter_states(self, values: Tensor) -> Any:
        """[S, T, B, F] in the form of the batch, as `decay` and `reset_states` take it."""
        if self.form in FORMS[:4]:
            return torch.stack([self.enter(each) for each in values])
        parts = [values[:, :length, b] for b, length in enumerate(self.lengths)]
        if self.form == "packed":
            whole = pack_sequence([part.movedim(0, 1) for part in parts], enforce_sorted=False)
            return whole._replace(data=whole.data.movedim(1, 0))
        return parts

    def turn(self, state: Tensor) -> Tensor:
        """A state [S, B, H] as the layer takes and returns it."""
        if self.form == "one":
            return state.squeeze(1)
        return state.transpose(0, 1) if self.arguments["batch_first_states"] else state

    def call(self, layer: Any, tensors: dict[str, Tensor]) -> tuple[Any, ...]:
        return layer(self.enter(tensors["x"]), **self.keywords(tensors))

    def keywords(self, tensors: dict[str, Tensor]) -> dict[str, Any]:
        found: dict[str, Any] = {"return_states": True} if self.return_states else {}
        if self.form == "lengths":
            found["lengths"] = torch.tensor(self.lengths)
        if "h_0" in tensors:
            found["h_0"] = self.turn(tensors["h_0"])
        if self.resets is not None:
            found["resets"] = self.enter(self.resets)
        if "decay" in tensors:
            found["decay"] = self.enter_states(tensors["decay"])
        if "reset_states" in tensors:
            stored = tensors["reset_states"]
            found["reset_states"] = stored if stored.dim() == 3 else self.enter_states(stored)
        return found

    def leave(self, results: tuple[Any, ...]) -> list[Tensor]:
        """Results as [T, B, D*H], [S, B, H] and, on request, [S, T, B, H], with zeros past a sequence's end."""
        output, h_n, *more = results
        if self.form == "one":
            h_n = h_n.unsqueeze(1)
        elif self.arguments["batch_first_states"]:
            h_n = h_n.transpose(0, 1)
        return [self._padded(output, 0), h_n, *(self._padded(each, 1) for each in more)]

    def _padded(self, values: Any, states: int) -> Tensor:
        if self.form == "dense" or self.form == "lengths":
            return values
        if self.form == "batch first":
            return values.transpose(states, states + 1)
        if self.form == "one":
            return values.unsqueeze(states + 1)
        if self.form == "packed":
            assert isinstance(values, PackedSequence)
            values = unpack_sequence(values)
        elif self.form == "nested":
            values = values.unbind()
        if states and self.form != "list":
            values = [each.movedim(1, 0) for each in values]
        past = [(0, 0, 0, len(self.x) - length) for length in self.lengths]
        return torch.stack([torch.nn.functional.pad(v, p) for v, p in zip(values, past, strict=True)], -2)

    # The answer.

    def truth(self, weights: dict[str, Tensor], tensors: dict[str, Tensor], training: bool = False) -> list[Tensor]:
        """As `leave` gives it, from each sequence, layer, direction, step and group by itself."""
        outputs, last, every = [], [], []
        for b, length in enumerate(self.lengths):
            below, own_last, own_every = tensors["x"][:length, b], [], []
            for layer in range(self.arguments["num_layers"]):
                sides = []
                for reverse in range(2 if self.arguments["bidirectional"] else 1):
                    end = f"_l{layer}" + "_reverse" * reverse
                    own = {n.removesuffix(end): w for n, w in weights.items() if n.endswith(end)}
                    sides.append(self._direction(own, below, tensors, len(own_last), b, bool(reverse)))
                    own_last.append(sides[-1][1])
                    own_every.append(sides[-1][0])
                below = torch.cat([side[0] for side in sides], -1)
            pad = (0, 0, 0, len(self.x) - length)
            outputs.append(torch.nn.functional.pad(below, pad))
            last.append(torch.stack(own_last))
            every.append(torch.stack([torch.nn.functional.pad(each, pad) for each in own_every]))
        found = [torch.stack(outputs, 1), torch.stack(last, 1)]
        return [*found, torch.stack(every, 2)] if self.return_states else found

    def _direction(
        self, own: dict[str, Tensor], below: Tensor, tensors: dict[str, Tensor], place: int, b: int, reverse: bool
    ) -> tuple[Tensor, Tensor]:
        hidden = self.arguments["hidden_size"]
        h = torch.zeros(hidden, dtype=below.dtype)
        if "h_0" in tensors:
            h = tensors["h_0"][place, b if tensors["h_0"].shape[1] > 1 else 0]
        steps = range(len(below))[:: -1 if reverse else 1]
        found: dict[int, Tensor] = {}
        for t in steps:
            if self.arguments["gradient_clipping"] is not None:
                h = _Clip.apply(h, self.arguments["gradient_clipping"])
            if "decay" in tensors:
                h = h * tensors["decay"][place, t, b]
            if self.resets is not None and self.resets[t, b]:
                h = torch.zeros_like(h)
                if "reset_states" in tensors:
                    stored = tensors["reset_states"]
                    h = stored[place, 0] if stored.dim() == 3 else stored[place, t, b]
            new = self._step(own, below[t], h)
            zoneout = self.arguments["zoneout"]
            h = found[t] = zoneout * h + (1 - zoneout) * new
        whole = [found[t] for t in range(len(below))]
        return torch.stack(whole) if whole else below.new_zeros(0, hidden), h

    def _step(self, own: dict[str, Tensor], x: Tensor, h: Tensor) -> Tensor:
        groups = self.arguments["groups"]
        if groups == 1:
            return self._gates(own, x, h)
        xs = x.chunk(groups) if self.arguments["input_groups"] > 1 else [x] * groups
        parts = zip(xs, h.chunk(groups), strict=True)
        return torch.cat([self._gates({k: w[g] for k, w in own.items()}, *part) for g, part in enumerate(parts)])

    def _gates(self, own: dict[str, Tensor], x: Tensor, h: Tensor) -> Tensor:
        act = ACTIVATIONS[self.arguments.get("activation", "tanh")]
        gate = ACTIVATIONS[self.arguments.get("gate_activation", "sigmoid")]
        size = len(h)
        before = self.arguments["reset"] == "before"

        def product(kind: str, read: Tensor, rows: slice) -> Tensor:
            value = own[f"weight_{kind}"][rows] @ read
            if self.arguments["norm"]:
                value = (value - value.mean()) / (value.var(correction=0) + 1e-5).sqrt() * own[f"gain_{kind}"][rows]
            return value + own[f"bias_{kind}"][rows] if self.arguments["bias"] else value

        two, third = slice(0, 2 * size), slice(2 * size, None)
        r, z = gate(product("ih", x, two) + product("hh", h, two)).chunk(2)
        from_state = product("hh", r * h, third) if before else r * product("hh", h, third)
        n = act(product("ih", x, third) + from_state)
        return (1 - z) * n + z * h
