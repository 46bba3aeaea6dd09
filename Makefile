# make run   the main job on a stream made on the spot     make test   everything CI runs
# make quick what one runs while working                  make check  lint, types, layers, tests
# make dist  sdists and wheels in dist/                    make docs   the site, in build/site
# make bench speed against the peers                      make mutants  does a test fail when a line of a kernel is wrong?
PYTHON ?= python3
VENV   ?= .venv
BENCH  ?= .venv-bench
PIP     = -m pip install --quiet --disable-pip-version-check
SOURCES = src reproduction tests benchmarks examples docs

.PHONY: run test quick check lint types layers docs bench bench-quick mutants bench-serve dist venv lock clean

run: $(VENV)/.run
	$(VENV)/bin/weft demo

test: venv
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder -rs

quick: venv
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder --quick

check: lint types layers test

lint: venv
	$(VENV)/bin/ruff check $(SOURCES)
	$(VENV)/bin/ruff format --check $(SOURCES)

types: venv
	$(VENV)/bin/mypy

layers: venv
	$(VENV)/bin/lint-imports

mutants: venv
	PYTHONPATH=tests $(VENV)/bin/python -m mutants $(MUTANTS)

bench: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks --write

bench-quick: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks --quick

bench-serve: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks.serve
	$(BENCH)/bin/python -m benchmarks.serve_pause

docs: venv
	$(VENV)/bin/python docs/website

dist: venv
	rm -rf dist && $(VENV)/bin/python -m hatchling build
	cd reproduction && ../$(VENV)/bin/python -m hatchling build -d ../dist

venv: $(VENV)/.dev

# Stamps: an environment is made again only when its pins change.
$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("weft needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(VENV)/bin/python
	@echo "Setting up $(VENV) (once) ..."
	$(VENV)/bin/python $(PIP) --require-hashes -r requirements/run.txt -r requirements/build.txt
	$(VENV)/bin/python $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt reproduction/pyproject.toml $(VENV)/.run
	@echo "Adding the tools for tests and checks to $(VENV) (once) ..."
	$(VENV)/bin/python $(PIP) --require-hashes -r requirements/dev.txt
	$(VENV)/bin/python $(PIP) --no-deps --no-build-isolation -e ./reproduction
	@touch $@

$(BENCH)/.bench: requirements/bench.txt pyproject.toml
	@echo "Setting up $(BENCH) with the peers (once) ..."
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP) --require-hashes -r requirements/bench.txt -r requirements/build.txt
	$(BENCH)/bin/python $(PIP) --no-deps --no-build-isolation -e .
	@touch $@

# Versions and hashes only, no addresses.
COMPILE = $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
          --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml
lock: $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) uv
	$(COMPILE) -o requirements/run.txt
	$(COMPILE) --extra build -c requirements/run.txt -o requirements/build.txt
	$(COMPILE) --extra dev -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) --extra bench -c requirements/run.txt -o requirements/bench.txt

clean:
	rm -rf $(VENV) $(BENCH) .pytest_cache .mypy_cache .ruff_cache .hypothesis
