"""Compare the speed of layers with groups and the dense layer, in turns in one process.

    python benchmarks/groups.py [--groups 8] [--threads 1] [--seconds 2]

With `input_groups` a layer has G times fewer multiply-adds; the aim is G / 2 times the speed at 512 units and 16 sequences.
Without them the products with the input remain, so the speedup is below 2 if they are half of the work.
"""

import argparse

import torch
from modifiers import call, turns

import anygru

SIZES = [(50, 16, 512, 512), (50, 64, 512, 512), (50, 16, 1024, 1024), (50, 16, 64, 512), (1, 1, 512, 512)]
"""Steps, batch, input size, hidden size."""


def ways(groups: int, features: int, hidden: int) -> dict[str, tuple[torch.nn.Module, torch.nn.Module]]:
    """Return the dense layer and the layer with groups for each comparison."""
    dense = anygru.GRU(features, hidden)
    recurrent = anygru.GRU(features, hidden, groups=groups)
    both = anygru.GRU(features, hidden, groups=groups, input_groups=groups)
    return {
        "recurrent, inference": (dense, recurrent),
        "recurrent, training": (dense, recurrent),
        "both, inference": (dense, both),
        "both, training": (dense, both),
        "both, frozen": (dense.freeze(), both.freeze()),
        "both, int8": (dense.freeze("int8"), both.freeze("int8")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    print("| T, B, I, H | weights | dense, ms | groups, ms | times as fast |\n|---|---|---:|---:|---:|")
    for steps, batch, features, hidden in SIZES:
        x = torch.randn(steps, batch, features)
        for name, layers in ways(args.groups, features, hidden).items():
            work = "training" if name.endswith("training") else "inference"
            found = turns(*(call(work, layer, x) for layer in layers), args.seconds)
            size = f"{steps}, {batch}, {features}, {hidden}"
            print(
                f"| {size} | {name} | {found['first_ms']} | {found['other_ms']} | {1 / found['ratio']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
