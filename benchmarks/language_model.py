"""Compare the training of a word-level language model in Gluon or Paddle under anygru and under the framework.

    python benchmarks/language_model.py mxnet --original /path/to/a/python/that/has/mxnet
    python benchmarks/language_model.py paddle           # anygru alone

Two processes load the model below, one with `anygru run`, one with the given interpreter. They train in turns of a few steps, so
that other load of the machine affects both. The output has median seconds per step and the losses, which must agree.
`--json FILE` stores the figures with machine, versions and commit.

The trainings are MXNet 1.x and Paddle 2 scripts that run on Python 3.8, as MXNet 1.9 requires.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

# Vocabulary, size of the embedding, of the GRU, its layers, rows of a batch, words of a window.
SIZES = (5000, 200, 256, 2, 32, 35)
WARM_UP = 3


def corpus(words, count):
    """Return a text in which each word depends on the previous one."""
    import numpy as np

    rng = np.random.RandomState(0)
    followers = rng.zipf(1.3, size=(words, 8)) % words
    choices = rng.randint(0, 8, count)
    text = np.zeros(count, dtype="int64")
    for i in range(1, count):
        text[i] = followers[text[i - 1], choices[i]]
    return text


def mxnet_training(hybridize, sizes):
    """Return a function that makes a step and returns a function for the loss."""
    vocabulary, embedding, hidden, layers, batch, window = sizes
    import mxnet as mx
    import numpy as np
    from mxnet import autograd, gluon, nd
    from mxnet.gluon import nn, rnn

    class Model(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.embedding = nn.Embedding(vocabulary, embedding)
                self.gru = rnn.GRU(hidden, layers, input_size=embedding)
                self.decoder = nn.Dense(vocabulary, flatten=False, in_units=hidden)

        def hybrid_forward(self, F, words, state):
            output, state = self.gru(self.embedding(words), state)
            return self.decoder(output), state[0]

    model = Model()
    model.initialize(mx.init.Zero())
    rng = np.random.RandomState(1)
    for parameter in model.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-0.08, 0.08, parameter.shape)))
    if hybridize:
        model.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 1.0})
    text = corpus(vocabulary, batch * 3000)
    table = nd.array(text.reshape(batch, -1).T)
    state = model.gru.begin_state(batch)[0]
    place = 0

    def step():
        nonlocal state, place
        if place + window + 1 > table.shape[0]:
            place = 0
        words, following = table[place : place + window], table[place + 1 : place + window + 1]
        place += window
        state = state.detach()
        with autograd.record():
            logits, state = model(words, state)
            loss = loss_of(logits.reshape((-1, vocabulary)), following.reshape((-1,)))
        loss.backward()
        gradients = [parameter.grad() for parameter in model.collect_params().values()]
        gluon.utils.clip_global_norm(gradients, 0.25 * window * batch)
        trainer.step(window * batch)
        return lambda: float(loss.mean().asscalar())  # waits for everything

    return step


def paddle_training(hybridize, sizes):
    """Return a function that makes a step and returns a function for the loss."""
    if hybridize:
        raise SystemExit("--hybridize is for mxnet")
    vocabulary, embedding, hidden, layers, batch, window = sizes
    import paddle
    from paddle import nn

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, embedding)
            self.gru = nn.GRU(embedding, hidden, layers)
            self.decoder = nn.Linear(hidden, vocabulary)

        def forward(self, words, state):
            output, state = self.gru(self.embedding(words), state)
            return self.decoder(output), state

    paddle.seed(0)  # the same draws under both
    model = Model()
    clip = nn.ClipGradByGlobalNorm(0.25)
    adam = paddle.optimizer.Adam(1e-3, parameters=model.parameters(), grad_clip=clip)
    table = paddle.to_tensor(corpus(vocabulary, batch * 3000).reshape(batch, -1))
    state = paddle.zeros([layers, batch, hidden])
    place = 0

    def step():
        nonlocal state, place
        if place + window + 1 > table.shape[1]:
            place = 0
        words, following = table[:, place : place + window], table[:, place + 1 : place + window + 1]
        place += window
        logits, state = model(words, state.detach())
        loss = nn.functional.cross_entropy(logits, following)
        loss.backward()
        adam.step()
        adam.clear_grad()
        return lambda: float(loss)

    return step


def train(framework, hybridize, sizes):
    """For each line of standard input, train that many steps and print the seconds and the last loss."""
    step = {"mxnet": mxnet_training, "paddle": paddle_training}[framework](hybridize, sizes)
    print(json.dumps({"python": platform.python_version()}), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            loss_of_step = step()
        loss = loss_of_step()
        print(json.dumps({"seconds": time.perf_counter() - begin, "loss": loss}), flush=True)


class Side:
    """One process that trains."""

    def __init__(self, name, command, threads):
        environment = dict(os.environ)
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
        self.name = name
        self.seconds, self.losses = [], []
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.facts = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: the process ended early, with status {self.process.wait()}")
        return json.loads(line)

    def turn(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.seconds.append(answer["seconds"] / steps)
        self.losses.append(answer["loss"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def commit():
    """The commit of the working tree, or None outside one."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() or None


def compare(options):
    """Let the sides train in turns and report."""
    vocabulary, embedding, hidden, layers, batch, window = options.sizes
    own = [os.path.abspath(__file__), options.framework, "--train", "--sizes", *map(str, options.sizes)]
    own += ["--hybridize"] if options.hybridize else []
    sides = [Side("anygru", [sys.executable, "-m", "anygru", "run", *own], options.threads)]
    if options.original:
        sides.append(Side(options.framework, [options.original, *own], options.threads))
    for side in sides:
        side.turn(WARM_UP)
        side.seconds.clear()
    for turn in range(options.turns):
        for side in sides if turn % 2 == 0 else sides[::-1]:
            side.turn(options.steps)
    for side in sides:
        side.close()
    medians = {side.name: statistics.median(side.seconds) for side in sides}
    words = window * batch
    print(f"vocabulary {vocabulary}, embedding {embedding}, GRU {layers} x {hidden}, {batch} rows of {window} words")
    for side in sides:
        median = medians[side.name]
        print(
            f"{side.name:>6}: {1000 * median:7.2f} ms a step (best {1000 * min(side.seconds):.2f}), "
            f"{words / median:7.0f} words a second, loss {side.losses[-1]:.4f}"
        )
    if len(sides) == 2:
        apart = max(abs(a - b) for a, b in zip(sides[0].losses, sides[1].losses, strict=True))
        if apart > 0.01:
            raise SystemExit(f"the losses are {apart:.4f} apart: the two did not train the same model")
        print(f"anygru trains {medians[options.framework] / medians['anygru']:.2f} times as fast")
    if options.json:
        result = {
            "machine": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "threads": options.threads,
            "hybridize": options.hybridize,
            "framework": options.framework,
            "sizes": options.sizes,
            "commit": commit(),
            "sides": {s.name: {"seconds": s.seconds, "losses": s.losses, "python": s.facts["python"]} for s in sides},
        }
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=("mxnet", "paddle"), help="whose program trains")
    parser.add_argument("--original", metavar="PYTHON", help="an interpreter with MXNet 1.9 or Paddle 2")
    parser.add_argument("--turns", type=int, default=8, help="turns of each side (8)")
    parser.add_argument("--steps", type=int, default=4, help="steps of a turn (4)")
    parser.add_argument("--threads", type=int, default=0, help="threads of each side (as many as it takes)")
    words = ("VOCABULARY", "EMBEDDING", "HIDDEN", "LAYERS", "BATCH", "WINDOW")
    parser.add_argument("--sizes", nargs=6, type=int, default=SIZES, metavar=words, help=f"default {SIZES}")
    parser.add_argument("--hybridize", action="store_true", help="let both run the model as a graph")
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    train(options.framework, options.hybridize, options.sizes) if options.train else compare(options)


if __name__ == "__main__":
    main()
