# Every target sets up what it needs; `make` alone lists them.

PYTHON ?= python3
JOBS ?= 2

BIN := .venv/bin
STAMP := .venv/.installed
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env test lint format demo bench figures clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: $(STAMP)  ## create .venv with everything the other targets need

# torch goes first: it is by far the largest, and a wrong build of it shows at once.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'The versions in constraints.txt need Python 3.11 or later; set PYTHON=.' >&2; \
	  exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) --editable '.[dev]'
	@touch $@

test: lint  ## lint, then run all tests and doctests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)

lint: $(STAMP)  ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## rewrite the code in the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: $(STAMP)  ## train with and without a fairret and show both
	$(BIN)/python examples/demo.py

bench: $(STAMP)  ## measure speed against the peers
	$(BIN)/python benchmarks/run.py

figures: $(STAMP)  ## redraw results/figures from the committed results
	$(BIN)/python experiments/draw.py

clean:  ## remove the environment, caches and build results
	rm -rf .venv build dist .coverage htmlcov
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
