# Every target sets up what it needs; `make` alone lists them.

PYTHON ?= python3
JOBS ?= 2

BIN := .venv/bin
STAMP := .venv/.installed
DEMO := .venv/.demo
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet -c constraints.txt
# Slow tests do not wait at the end of one process's queue: idle processes take them over.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env test quick lint format demo bench figures claims clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env: $(STAMP)  ## create .venv with everything the other targets need

# torch goes first: it is by far the largest, and a wrong build of it shows at once.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'The versions in constraints.txt need Python 3.11 or later; set PYTHON=.' >&2; \
	  exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) --editable '.[$(1)]'
endef

$(STAMP): pyproject.toml constraints.txt
	$(call install,dev)
	@touch $(DEMO) $@

# The demonstration needs little: whoever tries it first does not wait for all tools.
$(DEMO): pyproject.toml constraints.txt
	$(call install,demo)
	@touch $@

test: lint  ## lint, then run all tests and doctests
	$(PYTEST)

quick: lint  ## lint, then the tests that need one process and little time
	$(PYTEST) -m 'not (compile or process or browser or simulation or slow)'

lint: $(STAMP)  ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## rewrite the code in the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: $(DEMO)  ## train with and without a fairret and show both
	$(BIN)/python examples/demo.py

bench: $(STAMP)  ## measure speed against the peers
	$(BIN)/python benchmarks/run.py

figures: $(STAMP)  ## redraw results/figures from the committed results
	$(BIN)/python experiments/draw.py

claims: $(STAMP)  ## recompute the numbers of docs/reproduction.md, and compare them
	$(BIN)/python experiments/claims.py

clean:  ## remove the environment, caches and build results
	rm -rf .venv build dist .coverage htmlcov
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
