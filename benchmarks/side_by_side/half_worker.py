"""Run one implementation with 8 or 16 bits, or JAX, in this process; requests and answers as in `worker.py`.

Started as `python half_worker.py NAME THREADS`.
"""

# It imports packages that the type checker does not find.
# mypy: ignore-errors
import os

import worker
from worker import Data, inference_only, run_openvino, run_torch, serve, streaming, timed


def sample(output):
    return worker.sample(output.float() if hasattr(output, "float") else output)  # NumPy has no bfloat16


def run_torch_int8(cell, threads):
    """torch's layer with int8 weights: weights are quantised once, inputs at every step."""
    import torch

    data = Data(cell)
    inference_only(data, "torch_int8")
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    layer = torch.nn.GRU(data.I, data.H, data.L, bidirectional=data.D == 2)
    for weight, value in zip(layer.parameters(), [array for own in data.weights for array in own]):  # noqa: B905
        weight.copy_(torch.from_numpy(value))
    layer = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(layer), {torch.nn.GRU}, torch.qint8)[0]
    input = torch.from_numpy(data.input)
    if cell.get("stream"):
        return streaming(layer, input, False), torch.__version__
    return lambda: layer(input)[0], torch.__version__


def run_frozen(cell, threads, weights):
    inference_only(Data(cell), "a frozen layer")
    return run_torch({**cell, "frozen": weights}, threads, anygru=True)


def run_high(cell, threads):
    """float32 with `torch.set_float32_matmul_precision("high")`: products as sums of bfloat16 products."""
    import torch

    torch.set_float32_matmul_precision("high")
    return run_torch(cell, threads, anygru=True)


def run_jax(cell, threads):
    """lax.scan over the steps under jit; the products of the input for all steps are one product, as in our kernels."""
    if hasattr(os, "sched_setaffinity"):  # before XLA counts the CPUs
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    import jax
    from jax import numpy as jnp

    data = Data(cell)
    if data.lengths or data.L > 1 or data.D > 1:
        raise NotImplementedError("jax is given one layer, one direction and sequences of one length here")

    def layer(weights, input):
        w_ih, w_hh, b_ih, b_hh = weights

        def step(h, own):
            mine = h @ w_hh.T + b_hh
            r, z = jnp.split(jax.nn.sigmoid(own[:, : 2 * data.H] + mine[:, : 2 * data.H]), 2, axis=1)
            n = jnp.tanh(own[:, 2 * data.H :] + r * mine[:, 2 * data.H :])
            h = n + z * (h - n)
            return h, h

        return jax.lax.scan(step, jnp.zeros((data.B, data.H), jnp.float32), input @ w_ih.T + b_ih)[1]

    def both(weights, input, grad):
        output, back = jax.vjp(layer, weights, input)
        return output, back(grad)

    weights = [jnp.asarray(array) for array in data.weights[0]]
    input, grad = jnp.asarray(data.input), jnp.asarray(data.grad)
    if not data.train:
        infer = jax.jit(layer)
        return lambda: infer(weights, input).block_until_ready(), jax.__version__
    train = jax.jit(both)
    return lambda: jax.block_until_ready(train(weights, input, grad))[0], jax.__version__


RUNNERS = {
    "anygru_bfloat16": lambda cell, threads: run_torch(cell, threads, anygru=True, dtype="bfloat16"),
    "anygru_float16": lambda cell, threads: run_torch(cell, threads, anygru=True, dtype="float16"),
    "anygru_autocast": lambda cell, threads: run_torch(cell, threads, anygru=True, autocast="bfloat16"),
    "anygru_autocast_float16": lambda cell, threads: run_torch(cell, threads, anygru=True, autocast="float16"),
    "anygru_frozen_bfloat16": lambda cell, threads: run_frozen(cell, threads, "bfloat16"),
    "anygru_int8": lambda cell, threads: run_frozen(cell, threads, "int8"),
    "anygru_high": run_high,
    "torch_bfloat16": lambda cell, threads: run_torch(cell, threads, dtype="bfloat16"),
    "torch_float16": lambda cell, threads: run_torch(cell, threads, dtype="float16"),
    "torch_autocast": lambda cell, threads: run_torch(cell, threads, autocast="bfloat16"),
    "torch_autocast_float16": lambda cell, threads: run_torch(cell, threads, autocast="float16"),
    "torch_int8": run_torch_int8,
    # OpenVINO's default precision: bfloat16 if the CPU supports it.
    "openvino_default": lambda cell, threads: run_openvino(cell, threads, {}),
    "jax": run_jax,
}

if __name__ == "__main__":
    serve(lambda name, cell, threads: RUNNERS[name](cell, threads), timed, sample)
