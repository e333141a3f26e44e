# gaits: `make` lists the targets. Everything runs in .venv, with the versions of requirements.lock and requirements-dev.lock;
# the site and the release in .venv-docs and .venv-dist, with those of requirements-docs.lock and requirements-dist.lock.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
ALL    := $(VENV)/.ready-all
PYTHONS ?= $(PYTHON)
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
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

train: $(READY)  ## set up, then train a small repertoire: DCRL-MAP-Elites on QD Half-Cheetah, two or three minutes
	@if [ -e runs/first/config.json ]; then $(BIN)/gaits resume runs/first; \
	else $(BIN)/gaits train qd_half_cheetah dcrl_me --evaluations 8000 --out runs/first; fi

bench: $(ALL)  ## measure rollout speed side by side with bare physics and the original environments
	$(BIN)/gaits bench rollout

docs: $(VENV)-docs/.ready  ## build the site into build/site: warnings are errors, tutorials are executed, links checked
	$(VENV)-docs/bin/python tools/make_site.py

$(VENV)-docs/.ready: requirements-docs.lock pyproject.toml
	@$(PYTHON) -m venv $(VENV)-docs
	@$(VENV)-docs/bin/python -m pip install --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@$(VENV)-docs/bin/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

dist: $(VENV)-dist/.ready  ## build wheel and sdist, check them, try the wheel in fresh environments (PYTHONS="python3.11 python3.12")
	rm -rf dist
	$(VENV)-dist/bin/python -m build --no-isolation
	$(VENV)-dist/bin/twine check --strict dist/*
	$(VENV)-dist/bin/check-wheel-contents dist/*.whl
	$(VENV)-dist/bin/python tools/try_dist.py $(PYTHONS)

$(VENV)-dist/.ready: requirements-dist.lock
	@$(PYTHON) -m venv $(VENV)-dist
	@$(VENV)-dist/bin/python -m pip install --disable-pip-version-check --require-hashes -r requirements-dist.lock
	@touch $@

COMPILE := $(VENV)-lock/bin/uv pip compile - --universal --generate-hashes --python-version 3.11 \
	--quiet --no-annotate --no-header --no-emit-index-url

lock:  ## resolve the newest versions into the four lock files, for all platforms, with hashes
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	printf 'hatchling\neditables\n' | $(COMPILE) pyproject.toml --upgrade --group dev --output-file requirements-dev.lock
	cp requirements-dev.lock requirements.lock  # its versions are kept; what training does not need goes
	printf 'hatchling\neditables\n' | $(COMPILE) pyproject.toml --extra explore --output-file requirements.lock
	cp requirements-dev.lock requirements-docs.lock
	printf 'hatchling\neditables\n' | $(COMPILE) pyproject.toml --extra explore --group docs --output-file requirements-docs.lock
	cp requirements-dev.lock requirements-dist.lock
	printf 'hatchling\n' | $(COMPILE) --group dist --output-file requirements-dist.lock
	rm -rf $(VENV)-lock

clean:  ## remove environments, what was built, and caches
	rm -rf $(VENV) $(VENV)-docs $(VENV)-dist build dist .cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup setup-all test train bench docs dist lock clean
