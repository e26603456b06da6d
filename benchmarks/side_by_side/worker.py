"""Run one implementation of the GRU in this process: build and time the requested cells, and answer in JSON lines.

Requires only NumPy and the implementation, and runs on Python 3.8, for environments of the original frameworks.
Started as `python worker.py NAME THREADS`; reads one request per line:

    {"cell": {...}}            builds it; answers {"output": [a few values], "version": "..."}
    {"seconds": s}             runs it for s seconds; answers {"times": [seconds of each call]}
    {"limit": bytes, "threads": n}    (anygru only) answers {"gflops": ..., "gbytes": ...}
"""

# It imports packages that the type checker does not find.
# mypy: ignore-errors
import importlib
import json
import os
import sys
import time


def serve(build, timed, sample):
    """Answer requests. build(name, cell, threads) returns a call and a version, timed() times, sample() some values."""
    name, threads = sys.argv[1], int(sys.argv[2])
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads)  # before any library reads them
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # frameworks print to standard output
    call = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "cell" in request:
                if request["cell"].get("stream") and name not in STREAMING:
                    raise NotImplementedError(name + " has no streams here")
                call, version = build(name, request["cell"], threads)
                answer = {"output": [float(value) for value in sample(call())], "version": version}
            elif "limit" in request:
                answer = limit(request["limit"], request["threads"])
            else:
                answer = {"times": timed(call, request["seconds"])}
        except Exception as error:
            answer = {"error": "{}: {}".format(type(error).__name__, " ".join(str(error).split())[:300])}
        print(json.dumps(answer), file=answers, flush=True)


def timed(call, seconds):
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def least(call, seconds):
    """Return the shortest time of calls after a first one."""
    call()
    return min(timed(call, seconds))


def sample(output):
    """Return values spread over the output, for comparisons of implementations."""
    import numpy

    flat = numpy.asarray(output, numpy.float64).reshape(-1)
    return flat[:: max(1, flat.size // 64)][:64]


def limit(size, threads):
    """Measure GFLOP/s of a large matrix product, and GB/s of reading `size` bytes repeatedly, divided among the threads."""
    import torch

    from anygru.extend import native

    side = 1024
    a, b = torch.randn(side, side), torch.randn(side, side)
    c = torch.randn(max(size // 4 // threads, 64 << 10))  # below this the call itself would be measured
    product = least(lambda: torch.mm(a, b), 0.3)
    where = c.data_ptr(), c.nbytes
    reading = least(lambda: native.sum_float32(where, c.numel()), 0.1)
    return {"gflops": 2 * side**3 / product / 1e9, "gbytes": threads * 4 * c.numel() / reading / 1e9}


class Data:
    """Input and weights, equal for all implementations: rows r, z, n as in torch; ragged cells have lengths."""

    def __init__(self, cell):
        import numpy

        self.T, self.B, self.I, self.H = (cell[key] for key in ("steps", "batch", "input", "hidden"))
        self.L, self.D = cell["layers"], 2 if cell["bidirectional"] else 1
        self.train, self.lengths, self.stream = cell["train"], cell.get("lengths"), cell.get("stream")
        random = numpy.random.RandomState(0)
        self.input = random.uniform(-1, 1, (self.T, self.B, self.I)).astype("float32")
        self.grad = random.uniform(-1, 1, (self.T, self.B, self.D * self.H)).astype("float32")
        self.weights = []
        for layer in range(self.L):
            width = self.I if layer == 0 else self.D * self.H
            for _ in range(self.D):
                shapes = [(3 * self.H, width), (3 * self.H, self.H), (3 * self.H,), (3 * self.H,)]
                self.weights.append([random.uniform(-1, 1, s).astype("float32") / self.H**0.5 for s in shapes])


def run_torch(cell, threads, anygru=False, dtype="float32", autocast=""):
    """dtype: of layer and input; autocast: dtype of torch.autocast around the forward pass, "" for none."""
    import torch

    data = Data(cell)
    torch.set_num_threads(threads)
    package = importlib.import_module("anygru") if anygru else torch
    kind = package.GRU if anygru else torch.nn.GRU
    layer = kind(data.I, data.H, data.L, bidirectional=data.D == 2)
    given = [torch.from_numpy(array) for own in data.weights for array in own]
    with torch.no_grad():
        for weight, value in zip(layer.parameters(), given):  # noqa: B905
            weight.copy_(value)
    if anygru and cell.get("frozen"):
        layer = layer.freeze(cell["frozen"])
    if dtype != "float32":
        layer = layer.to(getattr(torch, dtype))
    input, grad = (torch.from_numpy(array).to(getattr(torch, dtype)) for array in (data.input, data.grad))
    if data.lengths:
        input = torch.nn.utils.rnn.pack_padded_sequence(input, torch.tensor(data.lengths))
    values = input.data if data.lengths else input
    grad = grad.reshape(-1, data.D * data.H)[: values.numel() // data.I]

    def infer():
        output = layer(input)[0]
        return output.data if data.lengths else output

    if autocast:
        plain = infer

        def infer():
            with torch.autocast("cpu", dtype=getattr(torch, autocast)):
                return plain()

    def train():
        values.requires_grad_()
        values.grad = None
        layer.zero_grad()
        output = infer()
        output.backward(grad.view_as(output))
        return output.detach()

    if data.train:
        return train, package.__version__
    torch.set_grad_enabled(False)  # as programs do it, around all calls and not in each
    return (streaming(layer, input, anygru) if cell.get("stream") else infer), package.__version__


def streaming(layer, input, anygru):
    """Return a call that makes one step of a stream: anygru's stream, or a layer with its last state."""
    if anygru:
        stream, step = layer.stream(input.shape[1]), input[0]
        return lambda: stream.step(step)
    state = None

    def call():
        nonlocal state
        output, state = layer(input, state)
        return output

    return call


def onnx_model(data):
    import numpy
    from onnx import TensorProto, helper, numpy_helper

    def turned(array):  # ONNX stacks z, r, h
        r, z, n = numpy.split(array, 3)
        return numpy.concatenate((z, r, n))

    nodes, constants, source = [], [], "x"
    for layer in range(data.L):
        own = data.weights[layer * data.D : (layer + 1) * data.D]
        arrays = {
            "w": numpy.stack([turned(weights[0]) for weights in own]),
            "r": numpy.stack([turned(weights[1]) for weights in own]),
            "b": numpy.stack([numpy.concatenate((turned(weights[2]), turned(weights[3]))) for weights in own]),
        }
        names = [f"{key}{layer}" for key in arrays]
        constants += [numpy_helper.from_array(array, name) for array, name in zip(arrays.values(), names)]  # noqa: B905
        direction = "bidirectional" if data.D == 2 else "forward"
        gates = f"y{layer}"
        options = {"hidden_size": data.H, "linear_before_reset": 1, "direction": direction}
        state = (["", "h"], ["last"]) if data.stream else ([], [])
        nodes.append(helper.make_node("GRU", [source, *names, *state[0]], [gates, *state[1]], **options))
        if data.D == 1:  # [T, D, B, H] to [T, B, D * H]
            nodes.append(helper.make_node("Squeeze", [gates, "axis"], [f"o{layer}"]))
        else:
            nodes.append(helper.make_node("Transpose", [gates], [gates + "t"], perm=[0, 2, 1, 3]))
            nodes.append(helper.make_node("Reshape", [gates + "t", "shape"], [f"o{layer}"]))
        source = f"o{layer}"
    constants.append(numpy_helper.from_array(numpy.array([1]), "axis"))
    constants.append(numpy_helper.from_array(numpy.array([data.T, data.B, data.D * data.H]), "shape"))
    value = helper.make_tensor_value_info
    kept = [value(name, TensorProto.FLOAT, [1, data.B, data.H]) for name in ("h", "last")] if data.stream else []
    graph = helper.make_graph(
        nodes,
        "gru",
        [value("x", TensorProto.FLOAT, [data.T, data.B, data.I]), *kept[:1]],
        [value(source, TensorProto.FLOAT, [data.T, data.B, data.D * data.H]), *kept[1:]],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    model.ir_version = 8
    return model.SerializeToString()


def inference_only(data, name):
    if data.train:
        raise NotImplementedError(name + " does not train")
    if data.lengths:
        raise NotImplementedError(name + " is not given ragged batches here")


def run_onnxruntime(cell, threads):
    import onnxruntime

    data = Data(cell)
    inference_only(data, "onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(onnx_model(data), options, providers=["CPUExecutionProvider"])
    if not data.stream:
        return lambda: session.run(None, {"x": data.input})[0], onnxruntime.__version__
    import numpy

    state = numpy.zeros((1, data.B, data.H), numpy.float32)

    def step():
        nonlocal state
        output, state = session.run(None, {"x": data.input, "h": state})
        return output

    return step, onnxruntime.__version__


def run_openvino(cell, threads, precision={"INFERENCE_PRECISION_HINT": "f32"}):  # noqa: B006
    import openvino

    data = Data(cell)
    inference_only(data, "openvino")
    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", **precision}
    request = core.compile_model(core.read_model(onnx_model(data)), "CPU", hints).create_infer_request()
    return lambda: request.infer({0: data.input}, share_inputs=True)[0].copy(), openvino.__version__.split("-")[0]


def run_paddle(cell, threads):
    import paddle

    data = Data(cell)
    paddle.set_device("cpu")
    direction = "bidirect" if data.D == 2 else "forward"
    layer = paddle.nn.GRU(data.I, data.H, data.L, direction=direction, time_major=True)
    state = layer.state_dict()
    for place, own in enumerate(data.weights):
        suffix = "l{}{}".format(place // data.D, "_reverse" if place % data.D else "")
        for key, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), own):  # noqa: B905
            state[f"{key}_{suffix}"].set_value(value)
    options = {"sequence_length": paddle.to_tensor(data.lengths, "int32")} if data.lengths else {}
    input = paddle.to_tensor(data.input, stop_gradient=not data.train)
    grad = paddle.to_tensor(data.grad)

    def call():
        if not data.train:
            with paddle.no_grad():
                return layer(input, **options)[0].numpy()
        layer.clear_gradients()
        input.clear_gradient()
        output = layer(input, **options)[0]
        paddle.autograd.backward([output], [grad])
        return output.detach().numpy()

    layer.train() if data.train else layer.eval()
    return call, paddle.__version__


def run_mxnet(cell, threads):
    import numpy

    numpy.bool = bool  # a name that MXNet 1.9 still uses
    import mxnet

    data = Data(cell)
    if data.lengths:
        raise NotImplementedError("mxnet is not given ragged batches here")
    layer = mxnet.gluon.rnn.GRU(data.H, data.L, bidirectional=data.D == 2, input_size=data.I)
    layer.initialize()
    parameters = layer.collect_params()
    for place, own in enumerate(data.weights):
        prefix = "{}{}{}_".format(layer.prefix, "lr"[place % data.D], place // data.D)
        for key, value in zip(("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"), own):  # noqa: B905
            parameters[prefix + key].set_data(mxnet.nd.array(value))
    input, grad = mxnet.nd.array(data.input), mxnet.nd.array(data.grad)

    def call():
        if not data.train:
            return layer(input).asnumpy()
        input.attach_grad()
        with mxnet.autograd.record():
            output = layer(input)
        output.backward(grad)
        input.grad.wait_to_read()
        mxnet.nd.waitall()
        return output.asnumpy()

    return call, mxnet.__version__


def run_chainer(cell, threads):
    import chainer
    import numpy

    data = Data(cell)
    kind = chainer.links.NStepBiGRU if data.D == 2 else chainer.links.NStepGRU
    layer = kind(data.L, data.I, data.H, 0.0)
    for part, own in zip(layer, data.weights):  # noqa: B905
        for gate in range(3):
            rows = slice(gate * data.H, (gate + 1) * data.H)
            for number, array in ((gate, own[0]), (gate + 3, own[1])):
                getattr(part, f"w{number}").array[...] = array[rows]
                getattr(part, f"b{number}").array[...] = own[2 if number < 3 else 3][rows]
    lengths = data.lengths or [data.T] * data.B
    sequences = [numpy.ascontiguousarray(data.input[:length, b]) for b, length in enumerate(lengths)]
    grads = [numpy.ascontiguousarray(data.grad[:length, b]) for b, length in enumerate(lengths)]

    def call():
        if not data.train:
            with chainer.no_backprop_mode(), chainer.using_config("train", False):
                output = layer(None, sequences)[1]
        else:
            output = layer(None, [chainer.Variable(sequence) for sequence in sequences])[1]
            upstream = [chainer.Variable(grad) for grad in grads]
            chainer.grad(output, list(layer.params()), grad_outputs=upstream)
        padded = numpy.zeros((data.T, data.B, data.D * data.H), "float32")
        for b, one in enumerate(output):
            padded[: len(one), b] = one.array
        return padded

    return call, chainer.__version__


def run_oneflow(cell, threads):
    import oneflow

    data = Data(cell)
    if data.lengths:
        raise NotImplementedError("oneflow is not given ragged batches here")
    layer = oneflow.nn.GRU(data.I, data.H, data.L, bidirectional=data.D == 2)
    names = dict(layer.named_parameters())
    for place, own in enumerate(data.weights):
        suffix = "l{}{}".format(place // data.D, "_reverse" if place % data.D else "")
        for key, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), own):  # noqa: B905
            names[f"{key}_{suffix}"].data.copy_(oneflow.tensor(value))
    input, grad = oneflow.tensor(data.input, requires_grad=data.train), oneflow.tensor(data.grad)

    def call():
        if not data.train:
            with oneflow.no_grad():
                return layer(input)[0].numpy()
        layer.zero_grad()
        input.grad = None
        output = layer(input)[0]
        output.backward(grad)
        input.grad.numpy()
        return output.detach().numpy()

    return call, oneflow.__version__


RUNNERS = {
    "anygru": lambda cell, threads: run_torch(cell, threads, anygru=True),
    "torch": run_torch,
    "onnxruntime": run_onnxruntime,
    "openvino": run_openvino,
    "paddle": run_paddle,
    "mxnet": run_mxnet,
    "chainer": run_chainer,
    "oneflow": run_oneflow,
}

STREAMING = ("anygru", "anygru_int8", "torch", "torch_int8", "onnxruntime")

if __name__ == "__main__":
    serve(lambda name, cell, threads: RUNNERS[name](cell, threads), timed, sample)
