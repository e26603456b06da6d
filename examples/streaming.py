"""A trained layer on data that arrives bit by bit, for many users at once, each of whom may come and go.

python examples/streaming.py
"""

import torch

import anygru


def main() -> None:
    torch.manual_seed(0)
    gru = anygru.GRU(3, 16, num_layers=2).eval()
    signal = torch.randn(100, 4, 3)  # 100 steps of 4 users
    whole, _ = gru(signal)

    stream = gru.stream(batch_size=4)
    first = [stream.step(step) for step in signal[:10]]  # one step at a time
    rest = stream.run(signal[10:])  # or a chunk of any length
    together = torch.cat([torch.stack(first), rest])
    print("stream equals the whole sequence:", torch.allclose(together, whole, atol=1e-6))

    stream.reset([2])  # user 2 leaves, another takes the place
    print("states after the reset:", [round(value, 3) for value in stream.state.norm(dim=(0, 2)).tolist()])

    saved = stream.state  # a plain tensor [layers, users, hidden]: save it like any other
    later = gru.stream(batch_size=4)
    later.state = saved
    step = torch.randn(4, 3)
    print("resumed elsewhere:", torch.equal(later.step(step), stream.step(step)))


if __name__ == "__main__":
    main()
