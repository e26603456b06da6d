"""A guitar amplifier: a small GRU learns a distortion, becomes one file of C, and runs on a WAV file without Python.

python examples/guitar_amplifier.py [FOLDER]     (writes to FOLDER, or to a temporary one; the last part needs a C compiler)
"""

import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
import torch

import anygru
from anygru.c_export import Residual

RATE = 16_000
PROGRAM = Path(__file__).with_name("guitar_amplifier.c")


def guitar(seconds: float, seed: int) -> torch.Tensor:
    """Plucked strings [samples]: noise goes round in a line as long as a period and loses its edges (Karplus, Strong 1983)."""
    random = np.random.default_rng(seed)
    sound = np.zeros(int(seconds * RATE))
    for start in range(0, len(sound), RATE // 4):
        period = int(RATE / (82.4 * 2 ** (random.integers(0, 30) / 12)))
        line = random.uniform(-1, 1, period)
        for at in range(start, len(sound), period):
            part = sound[at : at + period]
            part += line[: len(part)]
            line = 0.498 * (line + np.roll(line, 1))
    return torch.tensor(0.6 * sound / np.abs(sound).max(), dtype=torch.float32)


def distortion(sound: torch.Tensor) -> torch.Tensor:
    """The amplifier to learn: a tube that clips one side more than the other, whose bias follows what went through it."""
    bias, smooth, out = 0.0, 0.0, []
    for x in sound.double().tolist():
        bias += 0.002 * (abs(x) - bias)
        driven = np.tanh(5 * x - bias) if x > 0 else np.tanh(3 * x - bias)
        smooth += 0.5 * (driven - smooth)
        out.append(0.7 * smooth)
    return torch.tensor(out, dtype=torch.float32)


def error(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The energy of the error as a part of the target's."""
    return (output - target).square().sum() / target.square().sum()


def train(model: Residual, sound: torch.Tensor, target: torch.Tensor, steps: int) -> None:
    """Many short pieces at once; the first samples of each give the state time to settle, and do not count."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=steps)
    length, settling = 400, 80
    for _ in range(steps):
        starts = torch.randint(0, len(sound) - length, (32, 1)) + torch.arange(length)
        output = model(sound[starts.T].unsqueeze(-1)).squeeze(-1)
        loss = error(output[settling:], target[starts.T][settling:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def write(path: Path, sound: torch.Tensor) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", "not compressed"))
        file.writeframes((sound.clamp(-1, 1) * 32767).round().to(torch.int16).numpy().tobytes())


def read(path: Path) -> torch.Tensor:
    with wave.open(str(path)) as file:
        return torch.from_numpy(np.frombuffer(file.readframes(file.getnframes()), np.int16) / 32768).float()


def main(folder: Path) -> None:
    torch.manual_seed(0)
    model = Residual(anygru.GRU(1, 16), torch.nn.Linear(16, 1))
    sound = guitar(4, seed=1)
    train(model, sound, distortion(sound), steps=150)

    dry = guitar(2, seed=2)  # not heard in training
    write(folder / "dry.wav", dry)
    dry = read(folder / "dry.wav")
    with torch.no_grad():
        silence = torch.zeros(1000)  # until the amplifier is at rest, where a reset of the file in C begins
        wet = model.eval()(torch.cat((silence, dry)).unsqueeze(-1)).squeeze(-1)[len(silence) :]
    print(f"error on a new recording: {100 * error(wet, distortion(dry)):.1f} % of its energy")

    print(anygru.export_c(model, folder / "amplifier.h", rest=0.0, sample_rate=RATE))
    compiler = shutil.which("cc")
    if compiler is None:
        print("no C compiler found: install gcc or clang to hear it")
        return
    program = folder / "guitar_amplifier"
    subprocess.run([compiler, "-O3", "-I", folder, "-o", program, PROGRAM.resolve()], check=True)
    done = subprocess.run([program, folder / "dry.wav", folder / "wet.wav"], check=True, capture_output=True, text=True)
    print("the C program:", done.stdout.strip())
    print(
        f"furthest from PyTorch: {(read(folder / 'wet.wav') - wet.clamp(-1, 1)).abs().max() * 32768:.1f} steps of 16 bits"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(Path(name))
