# make demo   set up, run the main job on built-in data, name the report it wrote
# make test   set up, run every test
# make soak  try random examples until MINUTES=10 are over; TESTS=tests/kernels for some of the tests
# make test-browser  look at the reports in headless Chromium, which it installs (Debian)
# make check  ruff, mypy strict, import-linter, doctests
# make bench  speed against peers, in one run
# make reference  write docs/reference.md from the docstrings
# make reproduce  the papers' experiments on the data beside the project, into docs/reproduction.md
# make reproduce-default  the default against the usual baselines, into docs/default.md

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := $(VENV)/.peers
DRIVER := $(VENV)/.driver
MINUTES ?= 10
TESTS ?= tests

.PHONY: demo test test-slow soak test-browser check bench reference reproduce reproduce-default format clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("tamis needs Python 3.11 to 3.13; run make PYTHON=/path/to/python3.12") if not (3, 11) <= sys.version_info < (3, 14) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	$(BIN)/python -m compileall -q src  # pip does this for what it installs, not for what it links
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m tamis demo --out demo

test: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto -m "slow or not slow"

# Each round draws its own examples; the first that fails is printed, with what repeats it.
soak: $(READY)
	end=$$(($$(date +%s) + 60 * $(MINUTES))); while [ $$(date +%s) -lt $$end ]; do \
	$(BIN)/python -m pytest -q -x -n auto -m "hypothesis and not slow" --hypothesis-profile=soak $(TESTS) || exit 1; done

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

reference: $(READY)
	$(BIN)/python docs/reference.py

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --group bench
	touch $(PEERS)

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
	rm -rf $(VENV) demo dist build
