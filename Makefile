# make train   set up .venv and run the main job (trains a language model on the Python manual; two to three minutes)
# make test    set up .venv and run the tests that are not slow; PACKAGE=anygru-mxnet: those of one package
# make test-versions  the tests of PART=core, lab or dialects with the lowest versions allowed, in a fresh environment
#                     (PYTHON=python3.10; CHOSEN="torch==2.8.0 numpy==2.3.5": with others); leaves a report in build/versions
# make test-wheel    the core's tests on a wheel of it in a fresh environment (PYTHON=python3.12)
# make test-gpu    the tests of the backends, and those of the dialects that need a GPU, on a machine with one
# make lint    ruff (lint and format) and mypy
# make fuzz    fuzz all readers of files and the kernels for MINUTES=10, then commands with random options over mutated
#              files for as long, with findings in the folder fuzz-findings, and then the native functions with
#              CALLS=20000 wrong calls, with the seed of a crash as the last line
# make fuzz-covered    the readers once more, for SECONDS=60 each, with mutations that reach new lines (needs atheris, so Linux)
# make bench   compare GRU implementations on this machine, with the options of benchmarks/bench.py in ARGS
# make docs    the documentation as a site, in build/site; warnings are errors
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
ARGS ?=
PACKAGE ?=
PART ?= core
CHOSEN ?=
MINUTES ?= 10
CALLS ?= 20000
SECONDS ?= 60

# The packages beside anygru itself; all are installed as links to this folder.
BESIDE := anygru-paddle anygru-oneflow anygru-mxnet anygru-chainer anygru-lab
# The first with --build-constraint; 25.1 is the first with dependency groups.
NEW_PIP := pip>=25.3
TESTS = $(if $(PACKAGE),packages/$(PACKAGE)/tests)
MARKS := not slow and not gpu

# Without a GPU torch's build for CPUs will do, which is far smaller: a local version such as 2.13.0+cpu. (macOS has no other.)
# It comes from where pip is configured to look, indexes or a folder of wheels; where they have none, torch comes as they have it.
TORCH := torch==$(shell sed -n 's/^torch==//p' constraints.txt)
GPU := $(wildcard /dev/nvidia0 /dev/kfd)
MACOS := $(filter Darwin,$(shell uname -s))

# Tests and commands import the packages in hundreds of processes, which must find them compiled.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: train test test-all test-versions test-wheel test-gpu lint format fuzz fuzz-covered bench docs clean

train: $(READY)
	@echo "== anygru train"
	$(BIN)/anygru train --out runs/manual $(ARGS)

test: $(DEV)
	@echo "== tests"
	$(BIN)/python -m pytest -n 2 -m "$(MARKS)" $(TESTS) $(ARGS)

test-all: $(DEV)
	@echo "== tests, the slow ones too"
	$(BIN)/python -m pytest -n 2 $(TESTS) $(ARGS)

test-gpu: $(DEV)
	@echo "== tests on a GPU"
	$(BIN)/python -c "import torch; assert torch.cuda.is_available(), 'torch sees no GPU here'; print(torch.cuda.get_device_name())"
	$(BIN)/python -m pytest -m "not slow" packages/anygru/tests/backends packages/*/tests/test_gpu.py $(ARGS)

test-wheel:
	@echo "== tests of the core on its wheel"
	.ci/wheel $(PYTHON) $(ARGS)

test-versions:
	@echo "== tests of $(PART) with $(or $(CHOSEN),the lowest versions)"
	.ci/versions $(PYTHON) $(PART) $(CHOSEN)

lint: $(DEV)
	@echo "== ruff and mypy"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(DEV)
	@echo "== fuzzing for $(MINUTES) minutes"
	$(BIN)/python packages/anygru/tests/checkpoints/fuzzing.py --minutes $(MINUTES) $(ARGS)
	@echo "== commands over mutated files for $(MINUTES) minutes"
	$(BIN)/python packages/anygru/tests/checkpoints/commands.py --minutes $(MINUTES)
	@echo "== $(CALLS) wrong calls of native functions"
	$(BIN)/python packages/anygru/tests/backends/malformed_calls.py $(CALLS) $$(date +%s)

fuzz-covered: $(DEV)
	@echo "== fuzzing by coverage, $(SECONDS) seconds for each format"
	$(PIP) install --quiet "atheris>=3,<4"
	$(BIN)/python packages/anygru/tests/checkpoints/covered_fuzzing.py all -max_total_time=$(SECONDS)

bench: $(READY)
	$(BIN)/python benchmarks/bench.py $(ARGS)

docs: $(DEV)
	@echo "== sphinx"
	$(PIP) install --quiet --constraint constraints.txt --group docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

# Both stamps are older than what decides the environment only when there is something to install.
$(READY) $(DEV): constraints.txt pyproject.toml $(wildcard packages/*/pyproject.toml packages/anygru/CMakeLists.txt packages/anygru/csrc/*)

$(READY):
	$(call set_up,--editable packages/anygru --editable packages/anygru-lab,220 MB to download and 1.1 GB on disk)

$(DEV):
	$(call set_up,--editable "packages/anygru[all]" $(foreach each,$(BESIDE),--editable packages/$(each)) --group dev,2.5 GB on disk with the tools of tests and lint)
	@touch $(READY)

define set_up
@echo "== setting up $(VENV): the first time $(if $(GPU),some GB to download for the GPU,about $(2))"
test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
$(PIP) install --quiet "$(NEW_PIP)"
@$(if $(GPU)$(MACOS),false,$(PIP) install --constraint constraints.txt $(TORCH)+cpu) || \
{ echo "== torch as the index has it$(if $(GPU)$(MACOS),, (some GB; PIP_EXTRA_INDEX_URL can name an index of builds for CPUs))"; \
$(PIP) install --constraint constraints.txt $(TORCH); }
@echo "== the packages, with the kernels: to compile them takes one to three minutes"
$(PIP) install --constraint constraints.txt --build-constraint constraints.txt $(1)
@touch $@
endef

clean:
	rm -rf $(VENV) build dist packages/*/build packages/*/dist
