# make demo    a first look: trains, shows what is forgotten
# make test    everything that CI checks
# make docs    the documentation as a site, in the folder site; a warning is an error
# make lint    style, types and layers only
# make matrix  the tests under several Pythons and versions of torch (PYTHONS, TORCHES)
# make clean   removes what the other targets made
#
# Each target does its own set-up in .venv. Two variables can be given:
#   PYTHON=python3.12   the interpreter to build .venv with (3.10 or newer)
#   TORCH_INDEX=https://download.pytorch.org/whl/cpu   where to get PyTorch; this one has the small CPU build,
#                       while the default index may bring the CUDA build, which works as well but is much larger

PYTHON ?= python3
TORCH_INDEX ?=
PYTHONS ?= python3.10 python3.13
TORCHES ?= 2.10.* 2.13.*

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DELETE_ON_ERROR:
.PHONY: demo test docs lint matrix clean

demo: .venv/.installed
	@$(BIN)/engram demo

test: lint
	@echo "== tests"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

docs: .venv/.installed-dev
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python -m mkdocs build --strict
	@echo "site/index.html"

lint: .venv/.installed-dev
	@echo "== style"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== types"
	@$(BIN)/mypy
	@echo "== layers"
	@$(BIN)/lint-imports

matrix:
	@failed=0; \
	for python in $(PYTHONS); do for torch in $(foreach t,$(TORCHES),"$(t)"); do \
	  place=".matrix/$$($$python -c 'import platform; print(platform.python_version())')-torch-$${torch%.\*}"; \
	  { [ -d $$place ] || $$python -m venv $$place; } && \
	  $$place/bin/python -m pip install --quiet --disable-pip-version-check \
	    $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "torch==$$torch" && \
	  $$place/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" && \
	  OMP_NUM_THREADS=1 $$place/bin/python -m pytest -q -n 2 > $$place.txt 2>&1 || failed=1; \
	  echo "== $$place: $$(tail -n 1 $$place.txt 2>/dev/null || echo not installed)"; \
	done; done; exit $$failed

clean:
	rm -rf .venv .matrix build dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "Engram needs Python 3.10 or newer, and '$(PYTHON)' is not: choose another, as in  make $(MAKECMDGOALS) PYTHON=python3.12"; \
	  exit 1; }
	@echo "== making .venv"
	@$(PYTHON) -m venv --clear .venv
	@touch $@

# PyTorch comes first and on its own, because it alone may come from another index.
.venv/.torch: pyproject.toml | .venv/.made
	@echo "== installing PyTorch (the first time takes some minutes)"
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "torch>=2.10,<2.14"
	@touch $@

.venv/.installed: .venv/.torch
	@echo "== installing Engram"
	@$(PIP) -e .
	@touch $@

.venv/.installed-dev: .venv/.torch
	@echo "== installing Engram and the tools that check it"
	@$(PIP) -e ".[dev]"
	@touch $@
