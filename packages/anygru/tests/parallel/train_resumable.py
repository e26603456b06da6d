"""A training script that survives the death of a process, run by the launcher's tests.

    train_resumable.py FOLDER [KILL_AT_STEP]

It saves after every step and starts from the saved file. In the first attempt rank 1 is killed in the given step.
"""

import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import anygru
from anygru import parallel

STEPS = 6
folder = Path(sys.argv[1])
kill_at = int(sys.argv[2]) if len(sys.argv) > 2 else None
first_attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
world = parallel.start()

torch.manual_seed(1)
model = anygru.GRU(2, 3, dtype=torch.float64)
distributed = parallel.DataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
state_file, losses_file = folder / "state.pt", folder / "losses.json"
first_step, losses = 0, []
if state_file.exists():
    state = torch.load(state_file)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first_step, losses = state["step"], state["losses"]

for step in range(first_step, STEPS):
    if step == kill_at and first_attempt and world.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    generator = torch.Generator().manual_seed(step)
    sequences = [torch.randn(length, 2, generator=generator, dtype=torch.float64) for length in (4, 1, 3, 2)]
    outputs, _ = distributed(sequences[world.rank :: world.size])
    loss = torch.stack([output.square().mean() for output in outputs]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    if world.size > 1:
        dist.all_reduce(total)
    losses.append(total.item() / world.size)
    if world.rank == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1, "losses": losses}
        torch.save(state, folder / "state.new")
        os.replace(folder / "state.new", state_file)

if world.rank == 0:
    losses_file.write_text(json.dumps({"losses": losses, "resumed_at": first_step}))
