# make demo   set up, run the main job on built-in data, name the report it wrote
# make test   set up, run every test
# make soak  try to break it for SECONDS=600: damaged files, kills, interrupts, long runs (SEED=1 for others)
# make test-oldest  run every test with the oldest Python and dependencies that pyproject.toml allows
# make test-services  run the examples with MLflow and Feast, which it installs elsewhere
# make test-browser  look at the reports and the site in headless Chromium, which it installs (Debian)
# make check  ruff, mypy strict, import-linter, doctests
# make docs  build the documentation site, with the examples, in build/docs/html
# make bench  every benchmark in a short form (about a quarter of an hour), and a page with all runs so far
# make reference  write docs/reference.md and docs/commands.md from docstrings and commands
# make reproduce  the papers' experiments on the data beside the project, into docs/reproduction.md
# make reproduce-default  the default against the usual baselines, into docs/default.md

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PEERS := $(VENV)/.peers
DRIVER := $(VENV)/.driver
SITE := $(VENV)/.site
SECONDS ?= 600
SEED ?= 0
TESTS ?= tests
OLDEST ?= .venv-oldest
SERVICES ?= .venv-services

# What is imported is compiled once, and kept. Without that every process compiles all of it again,
# and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow test-oldest test-services soak test-browser check docs bench reference reproduce reproduce-default format clean

# What the package itself needs; most modules of its libraries are never imported, so never compiled.
$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("tamis needs Python 3.11 or later; run make PYTHON=/path/to/python3.12") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --editable .
	touch $(INSTALLED)

# And what tests and linters need besides.
$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	$(BIN)/python -m compileall -q src  # pip does this for what it installs, not for what it links
	touch $(READY)

demo: $(INSTALLED)
	$(BIN)/python -m tamis demo --out demo

# Each process begins with a half of the tests, so that few kernels are compiled by both at once.
test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --durations 20 -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --durations 20 -m "slow or not slow"

# uv can choose the oldest versions that are allowed; pip cannot. Peers that tests compare with ask for
# newer ones, but run with these. They have wheels for the oldest Python, and some for no later one.
test-oldest:
	$(PYTHON) -c 'import sys; sys.exit("The oldest dependencies need Python 3.11; run make test-oldest PYTHON=/path/to/python3.11") if sys.version_info[:2] != (3, 11) else None'
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	$(OLDEST)/bin/python .ci/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --overrides $(OLDEST)/oldest.txt --editable '.[all]' --group dev
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal -m "not slow" $(TESTS)

# They ask for older versions of pandas and others than the tests of the package.
test-services:
	$(PYTHON) -m venv $(SERVICES)
	$(SERVICES)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(SERVICES)/bin/python -m pip install --quiet --editable . --group dev --group services
	$(SERVICES)/bin/python -m pytest tests/test_examples.py -k "mlflow or feast"

# Prints a table of what was tried and what failed, with the case that repeats a failure.
soak: $(READY)
	TESTS="$(TESTS)" $(BIN)/python -m soak --seconds $(SECONDS) --seed $(SEED)

$(DRIVER): $(READY)
	$(BIN)/python -m pip install --quiet --group browser
	touch $(DRIVER)

# Debian's Chromium is driven from outside: the driver downloads no browser of its own.
test-browser: $(DRIVER)
	command -v chromium >/dev/null || { apt-get update -q && apt-get install -q -y chromium; }
	TAMIS_BROWSER_TESTS=1 $(BIN)/python -m pytest -q tests/browser

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules -q -p no:cacheprovider src/tamis

$(SITE): $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	touch $(SITE)

# Sphinx reads a copy of docs/, which docs/conf.py makes, so that what it generates stays out of it.
docs: $(SITE)
	mkdir -p build/docs/source
	$(BIN)/python -m sphinx -q -E -W --keep-going -c docs build/docs/source build/docs/html
	@echo "The site is build/docs/html/index.html"

reference: $(READY)
	$(BIN)/python docs/reference.py

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --group bench
	-$(BIN)/python -m pip install --quiet --no-deps "pgmpy<1"  # for the files of its networks
	touch $(PEERS)

# One of them in full: .venv/bin/python -m benchmarks NAME
bench: $(PEERS)
	$(BIN)/python -m benchmarks

reproduce: $(READY)
	$(BIN)/python -m reproduce

reproduce-default: $(PEERS)
	$(BIN)/python -m reproduce.default

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(OLDEST) $(SERVICES) demo dist build
