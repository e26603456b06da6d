"""Random numbers of MXNet 1.9.1 on a CPU: `python random_numbers.py answers.json` records them there.

An answer is the dtype, the shape, three numbers and a checksum of all bytes.
"""

# MXNet runs this file with Python 3.8.
# ruff: noqa: UP031
import importlib
import json
import sys
import zlib

import numpy as np

SIZES = (1, 10, 65, 1000)
EACH_SIZE = [
    "nd.random.uniform(shape=%d)",
    "nd.random.uniform(-2, 3, shape=%d, dtype='float64')",
    "nd.random.uniform(shape=%d, dtype='float16')",
    "nd.random.normal(shape=%d)",
    "nd.random.normal(1, 3, shape=%d, dtype='float64')",
    "nd.random.normal(shape=%d, dtype='float16')",
    "nd.random.exponential(0.7, shape=%d)",
    "nd.random.gamma(2.5, 1.5, shape=%d)",
    "nd.random.gamma(0.4, 1.5, shape=%d)",
    "nd.random.poisson(4, shape=%d)",
    "nd.random.poisson(20, shape=%d)",
    "nd.random.negative_binomial(3, 0.4, shape=%d)",
    "nd.random.generalized_negative_binomial(3, 0.4, shape=%d)",
    "nd.random.randint(-3, 10, shape=%d)",
    "nd.random.randint(-3, 10, shape=%d, dtype='int64')",
    "nd.random.shuffle(nd.arange(%d))",
    "nd.random.shuffle(nd.stack(nd.arange(%d), nd.arange(%d), axis=1))",
    "nd.Dropout(nd.ones(%d), p=0.3, mode='always')",
    "mx.np.random.uniform(-1, 2, size=%d)",
    "mx.np.random.normal(1, 2, size=%d)",
    "mx.np.random.normal(1, 2, size=%d, dtype='float64')",
    "mx.np.random.randint(5, size=%d)",
    "mx.np.random.exponential(2.0, size=%d)",
    "mx.np.random.choice(5, size=%d)",
    "mx.np.random.choice(5, size=%d, p=mx.np.array([0.1, 0.2, 0.3, 0.2, 0.2]))",
    "mx.np.random.multinomial(%d, [0.1, 0.2, 0.7], size=3)",
]
ONCE = [
    "nd.random.uniform(shape=70001)",
    "nd.random.normal(shape=70001)",
    "nd.random.uniform(nd.array([1, 2, 3]), nd.array([2, 4, 6]), shape=50)",
    "nd.random.normal(nd.array([1, 2, 3]), nd.array([2, 4, 6]), shape=50)",
    "nd.random.exponential(nd.array([1, 2, 3]), shape=50)",
    "nd.random.gamma(nd.array([0.5, 2, 3]), nd.array([2, 4, 6]), shape=50)",
    "nd.random.poisson(nd.array([0.5, 20, 3]), shape=50)",
    "nd.random.negative_binomial(nd.array([1, 20, 3]), nd.array([0.2, 0.4, 0.6]), shape=50)",
    "nd.random.gamma(2.5, 1.5, shape=100, dtype='float64')",
    "nd.random.uniform_like(nd.ones((3, 4), dtype='float64'))",
    "nd.random.uniform(0, 1, out=nd.zeros(3, dtype='float64'))",
    "nd.random.normal(0, 1, out=nd.zeros(3, dtype='float16'))",
    "nd.random.multinomial(nd.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0]]), shape=20, get_prob=True)",
    "nd._internal._sample_unique_zipfian(100, shape=(2, 10))",
    "nd.Dropout(nd.ones((6, 5, 4)), p=0.5, axes=(1,), mode='always')",
    "[nd.random.uniform(shape=3), nd.random.multinomial(nd.array([0.5, 0.5]), shape=3), nd.random.uniform(shape=3)]",
    "[mx.random.seed(5, ctx=mx.cpu(1)), nd.random.uniform(shape=3)][1]",
    "[nd.random.uniform(shape=3, ctx=mx.cpu(1)), nd.random.uniform(shape=3)]",
    "[mx.random.seed(-3), nd.random.uniform(shape=3)][1]",
    *(
        "[(net.initialize(mx.init.%s()), [p.data() for p in net.collect_params().values()])[1] for net in"
        " [mx.gluon.rnn.GRU(8, 2, input_size=5, bidirectional=True)]][0]" % name
        for name in ("Uniform", "Normal", "Xavier", "MSRAPrelu")
    ),
]
CALLS = [call.replace("%d", str(size)) for call in EACH_SIZE for size in SIZES] + ONCE


def answer(mx, call):
    mx.random.seed(11)
    found = eval(call, {"mx": mx, "nd": mx.nd})
    rows = []
    for array in found if isinstance(found, (list, tuple)) else [found]:
        values = array.asnumpy()
        first = [float("%.6g" % number) for number in values.ravel()[:3]]
        rows.append([values.dtype.name, list(values.shape), first, zlib.crc32(np.ascontiguousarray(values).tobytes())])
    return rows


if __name__ == "__main__":
    original = importlib.import_module("mxnet")
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join(json.dumps(c) + ": " + json.dumps(answer(original, c)) for c in CALLS) + "\n}\n")
