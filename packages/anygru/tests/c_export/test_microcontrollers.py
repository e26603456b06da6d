"""Cortex-M: the size of the code, and the numbers of programs that run in an emulator."""

import re
import subprocess
from pathlib import Path

import pytest
import torch
from c_programs import random_model, tool
from helpers import mostly_slow
from torch import nn

import anygru
from anygru.c_export import Residual, checking
from anygru.c_export.exporting import source_of

FORMATS = ["float32", "bfloat16", "int8"]
PROCESSORS = {"cortex-m4": ("fpv4-sp-d16", "mps2-an386"), "cortex-m7": ("fpv5-d16", "mps2-an500")}
"""Their floating-point units, and boards of QEMU that have them."""


def compiler_for(processor: str) -> list[str]:
    """The compiler with the options of its processor."""
    compiler = tool("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    # Without its library of C the compiler has neither <string.h> nor this file, and names the file as it was asked for.
    if subprocess.run([compiler, "-print-file-name=rdimon.specs"], capture_output=True, text=True).stdout[0] != "/":
        pytest.skip("needs rdimon.specs (Debian package libnewlib-arm-none-eabi)")
    return [compiler, f"-mcpu={processor}", "-mthumb", "-mfloat-abi=hard", f"-mfpu={PROCESSORS[processor][0]}"]


@pytest.mark.parametrize("weights", FORMATS)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_size(processor: str, weights: str, tmp_path: Path) -> None:
    """The code for 32 units without its constants is at most 4 KiB, and calls only memcpy and memset."""
    command = compiler_for(processor)
    model = nn.Sequential(anygru.GRU(1, 32), nn.Linear(32, 1))
    exported = anygru.export_c(model, tmp_path / "net.h", weights=weights, check=False)
    program = """
#include "net.h"
void step(net_state *state, const float *input, float *output);
void step(net_state *state, const float *input, float *output) { net_step(state, input, output); }
"""
    (tmp_path / "net.c").write_text(program)
    command += ["-Os", "-Wall", "-Wextra", "-Wdouble-promotion", "-Werror", "-c", "-o", "net.o", "net.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    sizes = sections_of(tmp_path / "net.o")
    assert 0 < sizes["text"] <= 4096
    assert sizes["rodata"] >= exported.source.constants - 16
    assert sizes.get("data", 0) == sizes.get("bss", 0) == 0, "nothing but code and constants"
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "-u", "net.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(symbols.stdout.split()) - {"U"} <= {"memcpy", "memset"}


def sections_of(file: Path) -> dict[str, int]:
    """The bytes of each kind of section; .text, .text.startup and so on are one kind."""
    listed = subprocess.run(["arm-none-eabi-size", "-A", str(file)], capture_output=True, text=True, check=True)
    sizes: dict[str, int] = {}
    for kind, size in re.findall(r"^\.(\w+)\S*\s+(\d+)", listed.stdout, re.MULTILINE):
        sizes[kind] = sizes.get(kind, 0) + int(size)
    return sizes


START = """
#include <stdint.h>
extern uint32_t stack_top;
void _mainCRTStartup(void);
static void start(void) {
    *(volatile uint32_t *)0xE000ED88u |= 0xF00000u; /* CPACR: turns the floating-point unit on */
    __asm volatile("dsb\\n isb");
    _mainCRTStartup();
}
__attribute__((section(".vectors"), used)) static void (*const vectors[2])(void) = {(void (*)(void))&stack_top, start};
"""
LAYOUT = """
MEMORY { FLASH (rx) : ORIGIN = 0x00000000, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) KEEP(*(.init)) KEEP(*(.fini)) } > FLASH
    .ARM.exidx : { *(.ARM.exidx*) } > FLASH
    .data : { *(.data*) } > RAM
    .bss : { __bss_start__ = .; *(.bss*) *(COMMON) __bss_end__ = .; } > RAM
    end = .;
    __end__ = .;
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
}
"""
RUN = """\
qemu-system-arm -M BOARD -display none -monitor none -serial none -kernel "$1" \\
    -semihosting-config enable=on,target=native,arg=program,arg="$2",arg="$3" < /dev/null
"""


def compare(processor: str, folder: Path, model: nn.Module, weights: str | None, *options: str) -> None:
    """Runs a file on a board, where the program reads and writes files of this machine by semihosting."""
    command = compiler_for(processor)
    tool("qemu-system-arm", "qemu-system-arm")
    for name, text in {"start.c": START, "layout.ld": LAYOUT, "run.sh": RUN}.items():
        (folder / name).write_text(text.replace("BOARD", PROCESSORS[processor][1]))
    command += ["--specs=rdimon.specs", "-T", str(folder / "layout.ld"), str(folder / "start.c"), *options]
    source = source_of(model, "model", weights, False).source
    bound = checking.BOUNDS[weights or "float32"]
    runner = ["sh", str(folder / "run.sh")]
    verdict = checking.check(source, checking.prepared(model, weights), bound, 200, command, runner)
    assert verdict.difference <= verdict.bound


@pytest.mark.parametrize("weights", mostly_slow(FORMATS))
@pytest.mark.parametrize("processor", mostly_slow(PROCESSORS))
@pytest.mark.parametrize("optimization", mostly_slow(["-Os", "-O3"]))
def test_numbers(processor: str, optimization: str, weights: str, tmp_path: Path) -> None:
    model = Residual(anygru.GRU(2, 21, 2), nn.Linear(21, 2))
    compare(processor, tmp_path, model, weights, optimization)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 330))
def test_numbers_of_random_models(seed: int, tmp_path: Path) -> None:
    model, weights = random_model(seed)
    compare("cortex-m4", tmp_path, model, weights, "-O2")


AVR = """
#include <stdio.h>
#include <avr/sleep.h>
#include "net.h"
static int put(char letter, FILE *file) {
    (void)file;
    while (!(UCSR0A & (1 << UDRE0))) {}
    UDR0 = (uint8_t)letter;
    return 0;
}
static net_state state;
int main(void) {
    static FILE out;
    static const float input[] PROGMEM = {<input>};
    size_t step, i;
    fdev_setup_stream(&out, put, NULL, _FDEV_SETUP_WRITE);
    UCSR0B = 1 << TXEN0;
    net_reset(&state);
    for (step = 0; step < <steps>; ++step) {
        float x[NET_INPUTS], y[NET_OUTPUTS];
        memcpy_P(x, input + step * NET_INPUTS, sizeof x);
        net_step(&state, x, y);
        for (i = 0; i < NET_OUTPUTS; ++i) {
            uint32_t bits;
            memcpy(&bits, y + i, sizeof bits);
            fprintf(&out, "<%08lx>\\n", (unsigned long)bits);
        }
    }
    fprintf(&out, "end\\n");
    sleep_mode(); /* with interrupts off this ends the emulator */
}
"""


class Own(nn.Module):
    """A graph, with constants in expressions, a norm, a table and a convolution along time."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm, self.scale = nn.Embedding(5, 3), nn.LayerNorm(3), nn.Parameter(torch.randn(3))
        self.conv, self.gru = nn.Conv1d(3, 4, 2, groups=1), nn.GRU(4, 8, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.table(x[..., 0].long())) * self.scale
        y = self.conv(nn.functional.pad(y.transpose(1, 2), (1, 0))).transpose(1, 2)
        return self.gru(y)[0] + x.new_tensor([0.5]).expand(8)


AVR_MODELS: dict[str, tuple[nn.Module, str | None]] = {
    "float32": (nn.Sequential(anygru.GRU(2, 8), nn.Linear(8, 3)), None),
    "float32 before": (Residual(anygru.GRU(2, 8, reset="before", norm="layer"), nn.Linear(8, 2)), None),
    "int8": (nn.Sequential(anygru.GRU(1, 16), nn.Linear(16, 5), nn.Tanh()), "int8"),
    "bfloat16": (anygru.GRU(3, 36), "bfloat16"),
}


def avr(folder: Path, *options: str, program: str) -> subprocess.CompletedProcess[str]:
    compiler = tool("avr-gcc", "gcc-avr")
    (folder / "net.c").write_text(program)
    command = [compiler, "-std=gnu99", "-mmcu=atmega328p", "-Wall", "-Wextra", *options, "-o", "net", "net.c", "-lm"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("kind", mostly_slow([*AVR_MODELS, "graph"]))
def test_an_uno_keeps_the_constants_in_flash(kind: str, tmp_path: Path) -> None:
    """An AVR reads its flash by instructions of its own: constants that are plain `const` take its 2 KiB of memory."""
    emulator = tool("simavr", "simavr")
    torch.manual_seed(0)
    if kind == "graph":
        model, weights, input = Own().eval(), None, torch.randint(0, 5, (1, 12, 1)).float()
        anygru.export_c(model, tmp_path / "net.h", check=False, example=input, time_axis=1)
        expected = model(input)[0].detach()
    else:
        model, weights = AVR_MODELS[kind]
        source = anygru.export_c(model, tmp_path / "net.h", weights=weights, check=False).source
        input = torch.randn(12, source.inputs)
        expected = checking.outputs_of(checking.prepared(model, weights), input).detach()
    numbers = ", ".join(f"{each:.9g}" for each in input.flatten().tolist())
    done = avr(tmp_path, "-Os", "-Werror", program=AVR.replace("<input>", numbers).replace("<steps>", "12"))
    assert done.returncode == 0, done.stderr[:2000]
    sizes = subprocess.run(["avr-size", "-A", "net"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert sum(int(size) for size in re.findall(r"^\.(?:data|bss)\s+(\d+)", sizes, re.MULTILINE)) < 400
    command = [emulator, "-m", "atmega328p", "-f", "16000000", "net"]
    said = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    ).stdout.decode()
    words = re.findall("<([0-9a-f]{8})>", said)
    assert "end" in said
    found = torch.tensor([int(word, 16) - (int(word, 16) >> 31 << 32) for word in words], dtype=torch.int32)
    torch.testing.assert_close(
        found.view(torch.float32), expected.flatten(), rtol=0, atol=checking.BOUNDS[weights or "float32"]
    )


TOO_LARGE: dict[str, nn.Module] = {
    "this AVR has less": nn.Sequential(anygru.GRU(1, 20), nn.Linear(20, 300), nn.Tanh()),
    "64 KiB of flash": anygru.GRU(1, 96),
}


@pytest.mark.parametrize("words", TOO_LARGE)
def test_a_model_that_an_avr_cannot_hold_is_an_error_of_the_compiler(words: str, tmp_path: Path) -> None:
    anygru.export_c(TOO_LARGE[words], tmp_path / "net.h", check=False)
    done = avr(tmp_path, "-Os", program=AVR.replace("<input>", "1.0").replace("<steps>", "1"))
    assert done.returncode
    assert words in done.stderr
