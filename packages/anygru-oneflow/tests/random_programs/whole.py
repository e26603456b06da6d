# ruff: noqa: C408, E501, SIM115, UP031  (it also runs under the original, on Python 3.8, where it is short)
"""Random whole programs: a seeded model, its data, its training, and other uses of tensors.

    python whole.py SEED COUNT ANSWERS    under OneFlow 0.9.0: run the programs and add their results to a file
    python whole.py SEED COUNT NUMBER     print one program

A program is drawn as text from a seed, so a file of answers holds no programs. It collects its results in the list `out`:
losses, gradients, states, printed forms. Weights, data, orders and dropout come from the framework's generator.
"""

import json
import lzma
import os
import random
import sys
import tempfile


class Program:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.lines = ["flow.manual_seed(%d)" % self.draw.randrange(1000)]
        self.write(self.draw.choice([self.sequences, self.sequences, self.rows, self.rows, self.images, self.steps]))
        for part in self.draw.sample(self.AROUND, self.draw.randint(0, 2)):
            self.write(part)
        self.lines.append("out.append(flow.rand(1))")

    def write(self, part):
        self.lines += (
            [line for line in part(self).splitlines() if line.strip()] if part in self.AROUND else part().splitlines()
        )

    def pick(self, *choices):
        return self.draw.choice(choices)

    # Models and their data

    def sequences(self):
        d = self.draw
        features, hidden, layers = d.randint(1, 4), d.randint(1, 5), d.randint(1, 3)
        kind, both, first = self.pick("GRU", "LSTM", "RNN"), self.pick(True, False), self.pick(True, False)
        options = "batch_first=%s, bidirectional=%s" % (first, both)
        if d.random() < 0.4 and layers > 1:
            options += ", dropout=%s" % self.pick(0.2, 0.5)
        if d.random() < 0.2:
            options += ", bias=False"
        if kind == "RNN" and d.random() < 0.5:
            options += ", nonlinearity='relu'"
        shape = (3, 5) if first else (5, 3)
        state = self.pick(None, None, "zeros", "randn")
        lines = ["rnn = nn.%s(%d, %d, %d, %s)" % (kind, features, hidden, layers, options)]
        lines += ["head = nn.Linear(%d, 4)" % (hidden * (2 if both else 1))]
        lines += ["parameters = list(rnn.parameters()) + list(head.parameters())"]
        if d.random() < 0.4:
            lines += ["table = nn.Embedding(7, %d)" % features, "parameters += list(table.parameters())"]
            lines += ["x = flow.randint(0, 7, %r)" % (shape,), "read = table"]
        else:
            lines += [
                "x = flow.%s(%s)" % (self.pick("randn", "rand"), ", ".join(map(str, (*shape, features)))),
                "read = nn.Identity()",
            ]
        lines += ["target = flow.randint(0, 4, (3,))"]
        call = "rnn(read(x))"
        if state:
            size = "%d, 3, %d" % (layers * (2 if both else 1), hidden)
            made = self.pick("flow.%s(%s)" % (state, size), "parameters[0].new_zeros(%s)" % size)
            lines += ["state = %s" % made]
            call = "rnn(read(x), %s)" % ("(state, state)" if kind == "LSTM" else "state")
        if d.random() < 0.25:
            lines += ["lengths = flow.tensor([5, 4, 2])"]
            call = call.replace("read(x)", "pack(read(x), lengths, batch_first=%s)" % first)
            lines += ["def compute():", "    packed, last = %s" % call]
            lines += ["    y, sizes = unpack(packed, batch_first=%s)" % first, "    out.append(sizes)"]
        else:
            lines += ["def compute():", "    y, last = %s" % call]
        used = self.pick(
            "y[:, -1]" if first else "y[-1]",
            "y.mean(%d)" % first,
            "y.max(%d)[0]" % first,
            "flow.select(y, %d, 0)" % first,
        )
        lines += ["    return cross(head(%s), target)" % used]
        return "\n".join([*lines, *self.training()])

    def rows(self):
        d = self.draw
        width, inner = d.randint(1, 5), d.randint(1, 6)
        middle = self.pick("nn.ReLU()", "nn.Tanh()", "nn.GELU()", "nn.SiLU()", "nn.Sigmoid()", "nn.LeakyReLU(0.1)", "nn.ELU()",
                           "nn.Softplus()", "nn.Hardswish()", "nn.Mish()", "nn.Dropout(0.3)", "nn.PReLU()", "nn.Softsign()")  # fmt: skip
        norm = self.pick("nn.BatchNorm1d(%d)", "nn.LayerNorm(%d)", "nn.Identity(%d)") % inner
        biased = "Identity" in norm  # the gradient of a bias in front of a normalization is a rounding error
        last = self.pick(1, 3)
        lines = [
            "model = nn.Sequential(nn.Linear(%d, %d, bias=%s), %s, %s, nn.Linear(%d, %d))"
            % (width, inner, biased, norm, middle, inner, last)
        ]
        lines += ["parameters = list(model.parameters())"]
        lines += ["x = flow.%s(6, %d)" % (self.pick("randn", "rand"), width)]
        if last == 1:
            loss = (
                self.pick("F.mse_loss(%s)", "F.l1_loss(%s)", "F.smooth_l1_loss(%s, beta=0.5, reduction='mean')")
                % "model(x), target"
            )
            lines += ["target = flow.rand(6, 1)", "def compute():", "    return " + loss]
        else:
            lines += ["target = flow.randint(0, 3, (6,))", "def compute():", "    return cross(model(x), target)"]
        if d.random() < 0.3:
            lines += ["out.append(repr(model))"]
        if d.random() < 0.3:
            lines += ["saved = model.state_dict()", "out.append(list(saved))", "twin = copy.deepcopy(model)"]
            lines += ["twin.load_state_dict(saved)"]
            lines += ["out.append(twin.eval()(x)); model.train()"]
        if d.random() < 0.3:
            lines += [self.pick("parameters[0].requires_grad_(False)", "parameters[0].requires_grad = False")]
        if d.random() < 0.3:
            lines += [
                "seen = []",
                "model[0].register_forward_hook(lambda layer, given, found: seen.append(found.sum().item()))",
            ]
            lines += ["after = lambda: out.append([round(value, 3) for value in seen[:2]])"]
        return "\n".join([*lines, *self.training()])

    def images(self):
        d = self.draw
        axes, channels = self.pick(1, 2), d.randint(1, 3)
        pool = self.pick("nn.AdaptiveAvgPool%dd(1)" % axes, "nn.AdaptiveMaxPool%dd(1)" % axes)
        norm = self.pick(
            "nn.BatchNorm%dd(3)" % axes,
            "nn.GroupNorm(3, 3)",
            "nn.InstanceNorm%dd(3, affine=True)" % axes,
            "nn.Identity()",
        )
        sizes = axes, channels, d.randint(0, 1), d.randint(1, 2), "Identity" in norm
        conv = "nn.Conv%dd(%d, 3, 3, padding=%d, stride=%d, bias=%s)" % sizes
        lines = ["model = nn.Sequential(%s, %s, nn.ReLU(), %s, nn.Flatten(), nn.Linear(3, 3))" % (conv, norm, pool)]
        lines += [
            "parameters = list(model.parameters())",
            "x = flow.randn(4, %d, %s)" % (channels, ", ".join(["6"] * axes)),
        ]
        lines += ["target = flow.randint(0, 3, (4,))", "def compute():", "    return cross(model(x), target)"]
        return "\n".join([*lines, *self.training()])

    def steps(self):
        """A loop over a cell, with the state detached after some steps."""
        d = self.draw
        kind, hidden = self.pick("GRUCell", "LSTMCell", "RNNCell"), d.randint(1, 4)
        lines = ["cell = nn.%s(3, %d)" % (kind, hidden), "head = nn.Linear(%d, 1)" % hidden]
        lines += [
            "parameters = list(cell.parameters()) + list(head.parameters())",
            "x = flow.randn(5, 2, 3)",
            "target = flow.rand(5, 2)",
        ]
        state = "flow.zeros(2, %d)" % hidden
        lines += ["def compute():", "    state = %s" % ("(%s, %s)" % (state, state) if kind == "LSTMCell" else state)]
        lines += [
            "    total = 0",
            "    for number, row in enumerate(%s):" % self.pick("x", "x.unbind(0)", "[x[k] for k in range(5)]"),
        ]
        lines += ["        state = cell(row, state)"]
        if d.random() < 0.5:
            lines += ["        if number == 2:"]
            lines += [
                "            state = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()"
            ]
        lines += ["        hidden = state[0] if isinstance(state, tuple) else state"]
        lines += ["        total = total + F.mse_loss(head(hidden).squeeze(-1), target[number])", "    return total"]
        return "\n".join([*lines, *self.training()])

    # Training

    def training(self):
        d = self.draw
        kind, options = self.pick(
            ("SGD", "lr=0.1"), ("SGD", "lr=0.1, momentum=0.9"), ("SGD", "lr=0.05, momentum=0.8, weight_decay=0.01"),
            ("SGD", "lr=0.1, momentum=0.9, nesterov=True"), ("Adam", "lr=0.01"), ("Adam", "lr=0.01, betas=(0.8, 0.9), weight_decay=0.1"),
            ("AdamW", "lr=0.01, weight_decay=0.1"), ("Adagrad", "lr=0.05"), ("RMSprop", "lr=0.01"), ("Adadelta", "lr=1.0"),
            ("LAMB", "lr=0.01"), ("RMSprop", "lr=0.01, centered=True"), ("Adam", "lr=0.01, amsgrad=True"),
        )  # fmt: skip
        groups = "parameters"
        if d.random() < 0.3:
            groups = "[{'params': parameters[:1], 'lr': 0.02}, {'params': parameters[1:]}]"
        clipped = d.random() < 0.3
        if clipped and d.random() < 0.5:
            groups = "[{'params': parameters, 'clip_grad_max_norm': 0.5, 'clip_grad_norm_type': 2.0}]"
        lines = ["optimizer = optim.%s(%s, %s)" % (kind, groups, options)]
        schedule = self.pick(
            None, None, "StepLR(optimizer, 2, 0.5)", "ExponentialLR(optimizer, 0.8)", "CosineAnnealingLR(optimizer, 4)",
            "LambdaLR(optimizer, lambda step: 1 / (step + 1))", "MultiStepLR(optimizer, [1, 3])", "PolynomialLR(optimizer, 5)",
            "ConstantLR(optimizer, 0.5, 2)", "LinearLR(optimizer, 0.5, 1.0, 3)", "CosineDecayLR(optimizer, 4, 0.1)",
        )  # fmt: skip
        if schedule:
            lines += ["schedule = optim.lr_scheduler.%s" % schedule]
        lines += ["for number in range(%d):" % d.randint(1, 4), "    loss = compute()"]
        lines += [
            "    " + self.pick("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=True)"),
            "    loss.backward()",
        ]
        if "clip_grad_max_norm" in groups:
            lines += ["    optimizer.clip_grad()"]
        elif clipped:
            lines += [
                "    "
                + self.pick("nn.utils.clip_grad_norm_(parameters, 0.3)", "nn.utils.clip_grad_value_(parameters, 0.1)")
            ]
        lines += ["    optimizer.step()"]
        if schedule:
            lines += ["    schedule.step()", "    out.append([round(rate, 6) for rate in schedule.get_last_lr()])"]
        lines += ["    out.append(loss)"]
        if d.random() < 0.2:
            lines += [
                "saved = optimizer.state_dict()",
                "out.append([sorted(map(str, saved)), [sorted(g) for g in saved['param_groups']]])",
            ]
            lines += ["optimizer.load_state_dict(saved)", "compute().backward(); optimizer.step()"]
        lines += ["out.append([parameter.sum() for parameter in parameters])"]
        lines += ["out.append([None if p.grad is None else p.grad.abs().sum() for p in parameters])"]
        lines += ["if 'after' in globals(): after()"]
        return lines

    # Parts of programs before and after training

    def views(self):
        shape = self.pick("(2, 6)", "(3, 4)")
        view = self.pick("y[0]", "y[:, 1:]", "y.reshape(-1)", "y.transpose(0, 1)", "y.split(2, 1)[0]", "y.chunk(2, 1)[1]",
                         "y.unbind(0)[1]", "list(y)[0]", "y.unsqueeze(0)", "y.narrow(1, 0, 2)", "y.view(-1, 2)", "y[..., 0]")  # fmt: skip
        change = self.pick("z.add_(1.0)", "z.sub_(0.5)", "z += 1", "z = z * 2", "z.requires_grad_(False)", "z = z.detach()",
                           "z = z.clone().mul_(3.0)", "z = z.contiguous()")  # fmt: skip
        return """
w = flow.rand(*%s, requires_grad=True)
y = w * 2
z = %s
%s
((z * 3).sum() + y.sum() + w.sum()).backward()
out.append([y, z, w.grad, z.requires_grad, str(z.size()), y[0].stride()])
""" % (shape, view, change)

    def unrecorded(self):
        change = self.pick("z.mul_(2.0)", "z.zero_()", "z.fill_(3.0)", "z[0] = 7.0", "z.copy_(flow.ones_like(z))", "z.normal_()",
                           "z.uniform_(-1, 1)", "z.clamp_(0.2, 0.8)", "z -= 1")  # fmt: skip
        # Not of columns: some changes of 0.9.0 write to memory as if they were rows.
        view = self.pick("w", "w[0]", "w.data", "w.view(-1)", "w.detach()", "w.split(1)[0]", "list(w)[1]")
        return """
w = nn.Parameter(flow.rand(2, 3))
with flow.no_grad():
    z = %s
    %s
(w * w).sum().backward()
out.append([w, w.grad, w.is_leaf, w.requires_grad])
""" % (view, change)

    def loader(self):
        options = self.pick(
            "shuffle=True",
            "shuffle=False",
            "shuffle=True, drop_last=True",
            "sampler=data.SubsetRandomSampler(range(2, 9))",
        )
        return """
rows = data.TensorDataset(flow.rand(10, 2), flow.arange(10))
loader = data.DataLoader(rows, batch_size=%d, %s, generator=seeded(%d))
out.append([len(loader), [[x.sum(), y.tolist()] for _ in range(2) for x, y in loader]])
""" % (self.draw.randint(1, 4), options, self.draw.randrange(100))

    def files(self):
        return """
with tempfile.TemporaryDirectory() as folder:
    layer = nn.%s
    flow.save({"state": layer.state_dict(), "step": 3, "rest": [1.5, None, "text", (flow.arange(3), True)]}, folder + "/saved")
    found = flow.load(folder + "/saved")
    layer.load_state_dict(found["state"])
    out.append([sorted(found), found["rest"], [value.sum() for value in layer.state_dict().values()]])
""" % self.pick("GRU(2, 3, 2)", "BatchNorm1d(3)", "Linear(2, 2)", "LSTM(2, 2, bidirectional=True)")

    def graph(self):
        return """
layer = nn.%s
class Training(nn.Graph):
    def __init__(self):
        super().__init__()
        self.layer = layer
        self.add_optimizer(optim.%s)
    def build(self, x):
        loss = (self.layer(x) ** 2).mean()
        loss.backward()
        return loss
training = Training()
x = flow.rand(4, 3)
out.append([training(x) for _ in range(3)])
out.append([parameter.sum() for parameter in layer.parameters()])
""" % (self.pick("Linear(3, 2)", "Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))"),
       self.pick("SGD(layer.parameters(), lr=0.1, momentum=0.9)", "Adam(layer.parameters(), lr=0.01)"))  # fmt: skip

    def derivatives(self):
        inside = self.pick(
            "(x ** 3).sum()", "(x * x.tanh()).sum()", "x.exp().sum()", "(x.sigmoid() * x).mean()", "x.softmax(-1).max()"
        )
        return (
            """
x = flow.rand(2, 3, requires_grad=True)
(first,) = flow.autograd.grad(%s, x, create_graph=True)
first.sum().backward()
out.append([first, x.grad])
"""
            % inside
        )

    def module(self):
        return """
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(flow.randn(3, 2))
        self.register_buffer("count", flow.zeros(1))
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
        self.apply(self.begin)
    def begin(self, layer):
        if isinstance(layer, nn.Linear):
            nn.init.%s(layer.weight)
            nn.init.zeros_(layer.bias)
    def forward(self, x):
        self.count += 1
        x = x @ self.weight
        for layer in self.layers:
            x = F.dropout(F.relu(layer(x)), %s, self.training) + x
        return x
model = Own()
y = model(flow.rand(4, 3))
y.sum().backward()
out.append([y, model.count, [name for name, _ in model.named_parameters()], model.weight.grad])
model.eval(); model.zero_grad()
out.append([model(flow.ones(1, 3)), model.weight.grad, sum(p.numel() for p in model.parameters()), repr(model)])
out.append([str(x) for x in (model.count, model.weight.grad.shape, model.weight.dtype, model.weight.device)])
""" % (
            self.pick("xavier_uniform_", "kaiming_normal_", "normal_", "uniform_", "xavier_normal_", "trunc_normal_"),
            self.pick(0.0, 0.5),
        )

    def draws(self):
        line = self.pick("flow.randperm(%d)" % self.draw.randint(1, 40), "flow.randint(-3, 9, (2, 4))", "flow.normal(1.0, 2.0, (3,))",
                         "flow.bernoulli(flow.rand(6))", "flow.multinomial(flow.rand(2, 5), 3)", "flow.zeros(4).exponential_(2.0)",
                         "flow.multinomial(flow.rand(4), 6, True)", "F.dropout(flow.ones(9), 0.4)", "flow.randn_like(flow.ones(2, 2))",
                         "flow.rand(3, dtype=flow.float64)", "flow.randn(3, generator=seeded(4))", "F.gumbel_softmax(flow.rand(2, 3))",
                         "flow.randint(5, (3,))", "nn.Dropout(0.5)(flow.ones(8))", "flow.randint_like(flow.ones(4), 0, 6)")  # fmt: skip
        return "out.append([%s, flow.initial_seed()])" % line

    def shapes(self):
        size = self.pick("2, 3", "(2, 3)", "[2, 3]")
        lines = ["out.append([p.new_zeros(%s), p.new_ones(%s, dtype=flow.int64)])" % (size, size)]
        lines += [
            "out.append([flow.zeros(%s), flow.ones(%s).sum(), flow.arange(6.0).reshape(%s)])" % (size, size, size)
        ]
        lines += [
            "out.append([flow.arange(6).view(%s), flow.ones(1, 3).expand(%s), flow.ones(1).repeat(%s)])"
            % (size, size, size)
        ]
        return "\n".join(["p = nn.Linear(1, 1).weight", *lines])

    def strides(self):
        start = self.pick("x.transpose(0, 1)", "x.permute(2, 0, 1)", "x[:, ::2]", "x[..., 1]", "x", "x.chunk(2, 1)[1]")
        change = self.pick("t * 2", "t + t", "t.relu()", "t.exp()", "t[1:]", "t.clone()", "t.contiguous()", "t.detach()",
                           "t.unsqueeze(0)", "t.unsqueeze(-1)", "flow.cat([t, t])", "flow.stack([t, t], 1)", "t.unbind(0)[1]",
                           "t.sum(0)", "t.mean(-1, keepdim=True)", "t.max(0)[0]", "t.reshape(-1)", "t.flatten()", "t.flip(0)",
                           "t.cumsum(0)", "t.softmax(-1)", "t.masked_fill(t > 0, 0.0)", "flow.where(t > 0, t, -t)", "t.double()",
                           "flow.zeros_like(t)", "flow.ones_like(t)", "t.narrow(0, 1, 1)", "t.sort(-1)[0]", "t.index_select(0, i)",
                           "t.expand(2, *t.shape)", "F.linear(t, flow.ones(2, t.shape[-1]))", "F.layer_norm(t, t.shape[-1:])")  # fmt: skip
        return """
i = flow.tensor([1, 0])
x = flow.randn(4, 2, 6)
t = %s
y = %s
out.append([y, {"strides": [[size, step] for size, step in zip(y.shape, y.stride())]}, y.is_contiguous()])
""" % (start, change)

    AROUND = [views, unrecorded, loader, files, graph, derivatives, module, draws, shapes, strides]


class Runner:
    def __init__(self, flow):
        def seeded(seed):
            generator = flow.Generator("cpu")
            generator.manual_seed(seed)
            return generator

        import copy

        nn = flow.nn
        cross = nn.functional.cross_entropy
        pack, unpack = nn.utils.rnn.pack_padded_sequence, nn.utils.rnn.pad_packed_sequence
        self.flow = flow
        self.names = dict(flow=flow, nn=nn, F=nn.functional, optim=flow.optim, data=flow.utils.data, cross=cross, pack=pack,
                          unpack=unpack, seeded=seeded, copy=copy, tempfile=tempfile)  # fmt: skip

    def answer(self, program):
        """The results that a program collects, as JSON has them, and the class of the exception that ended it."""
        names = dict(self.names, out=[])
        try:
            exec("\n".join(program), names)
        except Exception as error:
            return self.plain(names["out"]) + [{"raises": [kind.__name__ for kind in type(error).__mro__]}]
        return self.plain(names["out"])

    def plain(self, value):
        if isinstance(value, self.flow.Tensor):
            values = value.detach().numpy().ravel().tolist()
            return [str(value.dtype), list(value.shape), [float("%.5g" % number) for number in values]]
        if isinstance(value, (list, tuple)):
            return [self.plain(part) for part in value]
        if isinstance(value, dict):
            return {str(name): self.plain(part) for name, part in value.items()}
        return value if isinstance(value, (str, bool, int, float)) or value is None else str(value)


def programs(seed, count):
    return [Program(seed * 1000003 + number).lines for number in range(count)]


def record(seed, count, path):
    """Run the programs of a seed and add the answers to a file."""
    from programs import recorded

    rows = recorded(__file__, seed, count, path)
    found = json.load(lzma.open(path, "rt")) if os.path.exists(path) else {}
    found[str(seed)] = {row["number"]: row["answer"] for row in rows}
    with lzma.open(path, "wt", preset=9) as file:
        file.write(json.dumps(found, separators=(",", ":")))


if __name__ == "__main__" and len(sys.argv) > 4:
    import oneflow
    from programs import run

    run(Runner(oneflow), programs(int(sys.argv[1]), int(sys.argv[2])), sys.argv[3])
elif __name__ == "__main__" and sys.argv[3].isdigit():
    print("\n".join(programs(int(sys.argv[1]), int(sys.argv[2]))[int(sys.argv[3])]))
elif __name__ == "__main__":
    record(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
