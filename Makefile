# gaits: `make` lists the targets. Everything runs in .venv, with the versions of requirements.lock.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(READY)  ## make .venv with everything in it

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "gaits needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

test: $(READY)  ## set up, then lint, check types and run the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

train: $(READY)  ## set up, then train a small repertoire: CMA-MEGA (TD3, ES) on QD Hopper, about three minutes
	@if [ -e runs/first/config.json ]; then $(BIN)/gaits resume runs/first; \
	else $(BIN)/gaits train qd_hopper cma_mega_td3_es --evaluations 8000 --out runs/first; fi

bench: $(READY)  ## measure rollout speed side by side with bare physics and the original environments
	$(BIN)/gaits bench rollout

lock:  ## resolve the newest versions into requirements.lock, for all platforms, with hashes
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	printf 'hatchling\neditables\n' | $(VENV)-lock/bin/uv pip compile pyproject.toml - --upgrade --universal --generate-hashes \
		--python-version 3.11 --group dev --quiet --no-annotate --no-header --no-emit-index-url --output-file requirements.lock
	rm -rf $(VENV)-lock

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup test train bench lock clean
