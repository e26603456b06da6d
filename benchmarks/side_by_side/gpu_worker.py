"""Run one implementation of the GRU on a GPU in this process; requests and answers as in `worker.py`, times by CUDA events.

Started as `python gpu_worker.py NAME THREADS`.
"""

# It imports packages that the type checker does not find.
# mypy: ignore-errors
from cuda_events import timed
from worker import Data, serve


def sample(output):
    from worker import sample as of_array

    return of_array(output.detach().float().cpu().numpy())


class Tensors:
    """Input, upstream gradient and flat weights on the device; float32 products without TF32."""

    def __init__(self, cell):
        import torch

        self.data, self.cell = Data(cell), cell
        self.device, self.dtype = cell["device"], getattr(torch, cell["dtype"])
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
        self.input, self.grad = self.put(self.data.input), self.put(self.data.grad)
        self.weights = [self.put(array) for own in self.data.weights for array in own]

    def put(self, array):
        import torch

        return torch.from_numpy(array).to(self.device, self.dtype)

    def calls(self, layer, parameters):
        """Return the function to time: layer(), with gradients of input and parameters if the cell trains."""
        import torch

        if not self.cell["train"]:
            return torch.no_grad()(layer)
        wanted = [self.input.requires_grad_(), *(parameter.requires_grad_() for parameter in parameters)]

        def train():
            output = layer()
            torch.autograd.grad(output, wanted, self.grad)
            return output

        return train


def run_anygru(cell, backend=None):
    import anygru

    own = Tensors(cell)
    options = {"bidirectional": own.data.D == 2, "reset": cell["reset"], "backend": backend}
    layer = anygru.GRU(own.data.I, own.data.H, own.data.L, **options).to(own.device, own.dtype)
    fill(layer, own.weights)
    return own.calls(lambda: layer(own.input)[0], list(layer.parameters())), anygru.__version__


def run_torch(cell, cudnn=True):
    import torch

    own = Tensors(cell)
    after_only(cell)
    torch.backends.cudnn.enabled = cudnn
    layer = torch.nn.GRU(own.data.I, own.data.H, own.data.L, bidirectional=own.data.D == 2).to(own.device, own.dtype)
    fill(layer, own.weights)
    return own.calls(lambda: layer(own.input)[0], list(layer.parameters())), torch.__version__


def run_torchrl(cell):
    import torch
    import torchrl
    from tensordict import TensorDict
    from torchrl.modules import GRUModule

    own = Tensors(cell)
    after_only(cell)
    data = own.data
    keys = {"in_keys": ["x", "h", "is_init"], "out_keys": ["y", ("next", "h")]}
    options = {"recurrent_backend": "triton", "default_recurrent_mode": True, "device": own.device}
    layer = GRUModule(data.I, data.H, num_layers=data.L, **keys, **options).to(own.dtype)
    fill(layer, own.weights)
    h = torch.zeros(data.B, data.T, data.L, data.H, device=own.device, dtype=own.dtype)
    is_init = torch.zeros(data.B, data.T, 1, device=own.device, dtype=torch.bool)

    def call():
        rows = {"x": own.input.transpose(0, 1), "h": h, "is_init": is_init}
        return layer(TensorDict(rows, [data.B, data.T]))["y"].transpose(0, 1)

    return own.calls(call, list(layer.parameters())), torchrl.__version__


def run_flashrnn(cell):
    """One head. The order of its gates is n, r, z for the state; its biases are n (of the state), r, z, n."""
    from importlib.metadata import version

    import torch
    from flashrnn import flashrnn

    own = Tensors(cell)
    after_only(cell)
    data = own.data
    if data.L * data.D > 1:
        raise NotImplementedError("flashrnn has one layer and one direction")
    w_ih, w_hh, b_ih, b_hh = own.weights
    r, z, n = w_hh.view(3, 1, data.H, data.H).unbind()
    recurrent = torch.stack((n, r, z)).contiguous()
    of_input, of_state = b_ih.view(3, 1, data.H), b_hh.view(3, 1, data.H)
    bias = torch.cat((of_state[2:], of_input[:2] + of_state[:2], of_input[2:])).contiguous()

    def call():
        gates = torch.nn.functional.linear(own.input.transpose(0, 1), w_ih)
        gates = gates.view(data.B, data.T, 3, 1, data.H)
        states, _ = flashrnn(gates, recurrent, bias, function="gru", backend="cuda_fused")
        return states[0, :, :, 0].transpose(0, 1)

    return own.calls(call, [w_ih, recurrent, bias]), version("flashrnn")


def after_only(cell):
    if cell["reset"] != "after":
        raise NotImplementedError("only reset='after' is supported")


def fill(layer, weights):
    import torch

    with torch.no_grad():
        for parameter, value in zip(layer.parameters(), weights, strict=True):
            parameter.copy_(value)


RUNNERS = {
    "anygru": run_anygru,
    "triton": lambda cell: run_anygru(cell, "triton"),
    "reference": lambda cell: run_anygru(cell, "reference"),
    "torch": run_torch,
    "torch_without_cudnn": lambda cell: run_torch(cell, cudnn=False),
    "torchrl": run_torchrl,
    "flashrnn": run_flashrnn,
}

if __name__ == "__main__":
    serve(lambda name, cell, threads: RUNNERS[name](cell), timed, sample)
