# make train   set up .venv and run the main job (trains a language model on the Python manual; two to three minutes)
# make test    set up .venv and run the tests
# make test-gpu    the tests of the backends on a machine with a GPU
# make lint    ruff (lint and format) and mypy
# make fuzz    fuzz all readers of files and the native calls for MINUTES=10; findings are left in fuzz-findings
# make bench   the benchmark grid, on this machine
# make docs    the documentation as a site, in build/site; warnings are errors
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=
MINUTES ?= 10

.PHONY: train test test-all test-gpu lint format bench docs clean

train: $(READY)
	@echo "== anygru train"
	$(BIN)/anygru train --out runs/manual $(ARGS)

test: $(READY)
	@echo "== tests"
	$(BIN)/python -m pytest -n 2 -m "not slow and not gpu" $(ARGS)

test-all: $(READY)
	@echo "== tests, the slow ones too"
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-gpu: $(READY)
	@echo "== tests of the backends, on a GPU"
	$(BIN)/python -c "import torch; assert torch.cuda.is_available(), 'torch sees no GPU here'; print(torch.cuda.get_device_name())"
	$(BIN)/python -m pytest -m "not slow" $(ARGS) tests/backends

lint: $(READY)
	@echo "== ruff and mypy"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(READY)
	@echo "== fuzzing for $(MINUTES) minutes"
	$(BIN)/python tests/checkpoints/fuzzing.py --minutes $(MINUTES) $(ARGS)

bench: $(READY)
	$(BIN)/anygru bench $(ARGS)

docs: $(READY)
	@echo "== sphinx"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

# The stamp is older than what decides the environment only when there is something to install.
$(READY): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/anygru/csrc/*)
	@echo "== setting up $(VENV)"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch numpy
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) build dist
