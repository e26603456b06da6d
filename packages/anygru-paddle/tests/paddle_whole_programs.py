"""Random whole programs: a network, data, training, saving and resuming.

    python paddle_whole_programs.py SEED COUNT paddle_whole_programs.json.xz        with Paddle 2.6.2 records its answers

The programs take views of hidden states and detach them, name activations as operators, spell arguments in many ways, hang hooks
on layers and tensors, clip and decay, resume from a file in memory, and draw batches from a loader.
"""

import json
import lzma
import sys

import paddle_programs
from paddle_programs import answered

ACTS = [
    "relu", "leaky_relu", "hard_swish", "hard_sigmoid", "swish", "tanh", "sigmoid", "elu", "relu6", "softsign",
    "logsigmoid", "tanh_shrink", "square", "abs", "stanh",
]  # fmt: skip
LOSSES = [
    "F.cross_entropy(y, labels)",
    "F.cross_entropy(input=y, label=labels, reduction='mean')",
    "nn.CrossEntropyLoss()(y, labels.unsqueeze(1))",
    "paddle.mean(paddle.square(y - F.one_hot(labels, 3).astype(y.dtype)))",
    "F.mse_loss(y, F.one_hot(labels, num_classes=3).astype(y.dtype))",
    "F.binary_cross_entropy_with_logits(y, F.one_hot(labels, 3).astype(y.dtype))",
    "F.smooth_l1_loss(F.softmax(y, axis=-1), F.one_hot(labels, 3).astype(y.dtype), reduction='sum')",
    "-(F.log_softmax(y, -1) * F.one_hot(labels, 3).astype(y.dtype)).sum(axis=1).mean()",
    "F.nll_loss(F.log_softmax(y), labels)",
    "F.kl_div(F.log_softmax(y, -1), F.label_smooth(F.one_hot(labels, 3).astype(y.dtype)), 'batchmean')",
]
SCHEDULES = [
    "0.05",
    "paddle.optimizer.lr.StepDecay(0.05, 2)",
    "paddle.optimizer.lr.ExponentialDecay(learning_rate=0.05, gamma=0.9)",
    "paddle.optimizer.lr.LinearWarmup(0.05, warmup_steps=2, start_lr=0., end_lr=0.05)",
    "paddle.optimizer.lr.NoamDecay(d_model=16, warmup_steps=3)",
    "paddle.optimizer.lr.PiecewiseDecay(boundaries=[1, 3], values=[0.1, 0.05, 0.01])",
    "paddle.optimizer.lr.CosineAnnealingDecay(0.05, T_max=4)",
    "paddle.optimizer.lr.PolynomialDecay(0.05, decay_steps=5)",
]
OPTIMIZERS = ["SGD({rate}{more})", "Momentum({rate}, 0.8{more}, use_nesterov=True)", "Adam({rate}{more})", "AdamW({rate}{more})",
              "RMSProp({rate}, 0.9{more})", "Adagrad({rate}{more})", "Adamax({rate}{more})", "Lamb({rate}{more})"]  # fmt: skip
TAILS = [
    "h = out_[:, -1]",
    "h = out_[:, -1, :]",
    "h = paddle.mean(out_, axis=1)",
    "h = paddle.max(out_, 1)",
    "h = out_.transpose([1, 0, 2])[-1]",
    "h = paddle.concat([out_[:, 0], out_[:, -1]], axis=-1)[:, :SIZE]",
    "h = sum(out_.unbind(1)) / 5.",
    "h = paddle.stack([row for row in out_], 0).mean(1)",
    "h = paddle.split(out_, 5, axis=1)[-1].squeeze(1)",
    "h = paddle.flatten(out_[:, 3:4], 1)",
    "h = paddle.reshape(out_, [-1, SIZE])[::5]",
]
VIEWS = [
    "",
    "part = out_[0]; part.stop_gradient = True",
    "part = out_.reshape([-1, SIZE]); part.detach_()",
    "part = out_.unbind(1)[2]; part.stop_gradient = True; h = h + part * 0.5",
    "part = paddle.transpose(out_, [1, 0, 2])[1]; part.detach_(); h = h * 0.5 + part",
    "part = h.unsqueeze(0).squeeze(0); part.scale_(0.5); h = part",
    "part = h.clone(); part[0] = 0.; h = part",
    "part = h.clone(); part[:, 1] *= 2; h = part",
    "mask = paddle.cast(h > 0, h.dtype); mask.stop_gradient = True; h = h * mask",
    "h = paddle.where(h > 0.1, h, paddle.zeros_like(h))",
    "h = paddle.clip(h, -0.5, 0.5)",
]
HOOKS = [
    "",
    "net.fc.register_forward_post_hook(lambda layer, inputs, output: output * 0.5)",
    "net.rnn.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))",
    "net.fc.weight.register_hook(lambda g: g * 0.5)",
    "net.fc.register_forward_pre_hook(lambda layer, inputs: None)",
]
RESUMES = [
    "",
    "buffer = io.BytesIO(); paddle.save(net.state_dict(), buffer); buffer.seek(0); net.set_state_dict(paddle.load(buffer))",
    "state = {k: v.numpy() for k, v in net.state_dict().items()}; net.set_state_dict(state)",
    "opt.set_state_dict(opt.state_dict())",
    "net.load_dict(net.state_dict()); opt.clear_grad()",
    "net.fc.weight.set_value(net.fc.weight * 0.9)",
    "net.fc.bias.stop_gradient = True",
]

PLAIN = ("", "pass", "loss", "opt.step()")
# The context of the forward pass, the code before the loop, the loss that is differentiated, the step.
PRECISIONS = [
    ("", "pass", "loss", "opt.minimize(loss)"),
    ("paddle.amp.auto_cast()", "scaler = paddle.amp.GradScaler()", "scaler.scale(loss)",
     "scaler.step(opt); scaler.update()"),
    ("paddle.amp.auto_cast(enable=False)", "scaler = paddle.amp.GradScaler(enable=False)", "scaler.scale(loss)",
     "scaler.step(opt)"),
    ("paddle.amp.auto_cast(level='O1', dtype='float16')", "scaler = paddle.amp.GradScaler(init_loss_scaling=1024.)",
     "scaler.scale(loss)", "scaler.minimize(opt, scaled)"),
    ("paddle.amp.auto_cast(dtype='bfloat16')", "pass", "loss", "opt.step()"),
    ("paddle.amp.auto_cast(custom_black_list={'matmul_v2', 'linear'}, dtype='bfloat16')", "pass", "loss", "opt.step()"),
    ("paddle.amp.auto_cast(True, ['tanh'], ['linear'], 'O1', 'bfloat16')", "pass", "loss", "opt.step()"),
]  # fmt: skip
STATIC = [
    "net = paddle.jit.to_static(net)",
    "net.forward = paddle.jit.to_static(net.forward)",
    "net = paddle.jit.to_static(net, input_spec=[paddle.static.InputSpec([None, 5, SIZE], 'DTYPE'), "
    "paddle.static.InputSpec([None], 'int64')])",
    "net = paddle.jit.to_static(net, full_graph=True)",
]


class Draw(paddle_programs.Draw):
    """Draws whole programs from one seed."""

    def recurrent(self, size):
        """The code of a recurrent layer, and the size of its output."""
        kind, depth = self.one_of(["GRU", "GRU", "GRU", "LSTM", "SimpleRNN"]), self.number(1, 2)
        both = self.one_of([False, False, True])
        direction = self.one_of(["'bidirect'", "'bidirectional'"]) if both else "'forward'"
        spelled = self.one_of(
            [
                f"nn.{kind}({size}, 4, {depth}, {direction})",
                f"nn.{kind}(input_size={size}, hidden_size=4, num_layers={depth}, direction={direction})",
                f"nn.{kind}({size}, 4, num_layers={depth}, direction={direction}, dropout=0.)",
            ]
        )
        if self.one_of([False, False, False, True]):
            cell = f"nn.{kind}Cell({size}, 4)"
            if both:
                return f"nn.BiRNN({cell}, {cell})", 8
            return f"nn.RNN({cell}, is_reverse={self.one_of([False, True])})", 4
        return spelled, 8 if both else 4

    def program(self):
        """The code of one program."""
        size, (rnn, wide), batch = self.number(2, 4), self.recurrent(3), self.one_of([1, 2, 2, 3])
        norm = self.one_of(
            [
                "None",
                f"nn.BatchNorm({wide}, act='{self.one_of(ACTS)}', dtype=DTYPE)",
                f"nn.LayerNorm({wide})",
                f"nn.BatchNorm1D({wide})",
            ]
        )
        lengths = self.one_of(["", "", ", sequence_length=lengths"])
        tail, view = self.one_of(TAILS).replace("SIZE", str(wide)), self.one_of(VIEWS).replace("SIZE", str(wide))
        decay = self.one_of(["", ", weight_decay=0.01", ", weight_decay=paddle.regularizer.L2Decay(0.01)"])
        clip = self.one_of(
            [
                "",
                ", grad_clip=nn.ClipGradByGlobalNorm(0.5)",
                ", grad_clip=nn.ClipGradByNorm(0.3)",
                ", grad_clip=nn.ClipGradByValue(0.1)",
            ]
        )
        optimizer = self.one_of(OPTIMIZERS).format(
            rate=self.one_of(SCHEDULES), more=f", parameters=net.parameters(){decay}{clip}"
        )
        if optimizer.startswith("Lamb"):
            optimizer = optimizer.replace(decay, "")
        drop = self.one_of(["", "        h = F.dropout(h, 0.3, training=self.training)\n"])
        backward = self.one_of(
            ["scaled.backward()", "paddle.autograd.backward([scaled])", "scaled.backward(retain_graph=True)"]
        )

        # Over two rows only rounding errors are left of the gradient of a batch normalization: float32 has no digits of it.
        dtype = "float64" if "Batch" in norm and batch == 2 else self.one_of(["float32", "float32", "float64"])
        norm = norm.replace("DTYPE", repr(dtype))
        static = self.one_of(["", "", "", "", self.one_of(STATIC).replace("SIZE", str(size)).replace("DTYPE", dtype)])
        hook = self.one_of(HOOKS)
        if "stop_gradient" in view or "detach_" in view or "weight.register_hook" in hook:
            static = ""  # there Paddle's static graph ignores them
        context, before, scaled, step = self.one_of([PLAIN, PLAIN, self.one_of(PRECISIONS)])
        if dtype == "float64":
            context, before, scaled, step = PLAIN
        opened = f"with {context}:" if context else "if True:"

        return f"""import io
paddle.set_default_dtype('{dtype}')
paddle.seed({self.number(1, 99)})
np.random.seed({self.number(1, 99)})
class Net(nn.Layer):
    def __init__(self):
        super(Net, self).__init__()
        self.embed = nn.Linear({size}, 3)
        self.rnn = {rnn}
        self.norm = {norm}
        self.fc = nn.Linear({wide}, 3)
        self.register_buffer("calls", paddle.zeros([1]))
    def forward(self, x, lengths=None):
        out_, state = self.rnn(self.embed(x){lengths})
        {tail}
        {view}
        if self.norm is not None:
            h = self.norm(h)
{drop}        return self.fc(h)
net = Net()
{static}
{hook}
{before}
data = paddle.io.TensorDataset([paddle.to_tensor(A([6, 5, {size}], '{dtype}', -2, 2)), paddle.to_tensor(np.arange(6) % 3)])
lengths = paddle.to_tensor([5, 3, 4][:{batch}])
opt = paddle.optimizer.{optimizer}
losses = []
for epoch in range(2):
    for x, labels in paddle.io.DataLoader(data, batch_size={batch}, shuffle={self.one_of([False, False, True])}):
        {opened}
            y = net(x, lengths)
            loss = {self.one_of(LOSSES)}
        scaled = {scaled}
        {backward}
        {step}
        opt.{self.one_of(["clear_grad()", "clear_gradients()", "clear_grad(set_to_zero=False)"])}
        if hasattr(opt._learning_rate, 'step'):
            opt._learning_rate.step()
        losses.append(float(loss))
    {self.one_of(RESUMES)}
net.eval()
with paddle.no_grad():
    out.append(net(data[:][0][:{batch}], lengths).detach())
out.append(paddle.to_tensor(losses))
out += [p for p in net.parameters()]
out.append(str([(n, list(p.shape), p.stop_gradient) for n, p in net.named_parameters()]))
out.append(opt.get_lr())
"""


def record(seed, count, path):
    """Write `count` programs with Paddle's answers."""
    draw = Draw(seed)
    with lzma.open(path, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        json.dump(answered([draw.program() for _ in range(count)]), file)


if __name__ == "__main__":
    record(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
