# gaits: `make` lists the targets. Everything runs in .venv, with the versions of requirements.lock and requirements-dev.lock.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
ALL    := $(VENV)/.ready-all
PIP    := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(READY)  ## make .venv with what training and exploring need, about 0.7 GB

setup-all: $(ALL)  ## make .venv with every extra, the tests' tools and oracles, about 2 GB

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "gaits needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "Installing what training needs into $(VENV): $$(grep -c '==' requirements.lock) packages, about 0.7 GB ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(READY)

$(ALL): requirements-dev.lock $(READY)
	@echo "Installing the tests' tools and oracles and every extra into $(VENV): about 1.3 GB more ..."
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $(ALL)

test: $(ALL)  ## set up all, then lint, check types and run the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

train: $(READY)  ## set up, then train a small repertoire: CMA-MEGA (ES) on QD Half-Cheetah, about three minutes
	@if [ -e runs/first/config.json ]; then $(BIN)/gaits resume runs/first; \
	else $(BIN)/gaits train qd_half_cheetah cma_mega_es --evaluations 40000 --out runs/first; fi

bench: $(ALL)  ## measure rollout speed side by side with bare physics and the original environments
	$(BIN)/gaits bench rollout

COMPILE := $(VENV)-lock/bin/uv pip compile pyproject.toml - --universal --generate-hashes --python-version 3.11 \
	--quiet --no-annotate --no-header --no-emit-index-url

lock:  ## resolve the newest versions into requirements.lock and requirements-dev.lock, for all platforms, with hashes
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	printf 'hatchling\neditables\n' | $(COMPILE) --upgrade --group dev --output-file requirements-dev.lock
	cp requirements-dev.lock requirements.lock  # its versions are kept; what training does not need goes
	printf 'hatchling\neditables\n' | $(COMPILE) --extra explore --output-file requirements.lock
	rm -rf $(VENV)-lock

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup setup-all test train bench lock clean
