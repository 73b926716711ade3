# Everything sets itself up: a machine with git, make and python3 (3.11 or newer, with venv and pip) is enough. Tests
# look at reports in Chromium or Chrome, which is installed only by root and apt-get; elsewhere, bring one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
BENCH := .venv-bench

.PHONY: demo test soak conformance check bench browser setup clean

demo: $(READY)          ## play the learners on five real data sets: a leaderboard and a report, in about a minute
	$(BIN)/marginbandits bakeoff --out demo \
	  --learners "Mixture,HingeLMC,SmoothFTL,LipschitzFTL,LinUCB(features=fourier),LinUCB,LinTS,EpsilonGreedy,RegCB,SquareCB,Banditron,Uniform"

test: $(READY)          ## run the tests, doctests and code blocks of the documentation, in minutes
	@.ci/browser || true
	$(BIN)/python -m pytest -q -n 2

soak: $(READY)          ## run the tests that take long: many seeds, many kills, whole sweeps
	$(BIN)/python -m pytest -q -n 2 -m soak

conformance: $(READY)   ## Microsoft's own clients of Personalizer, in Python and JavaScript: one that is missing is an error
	$(BIN)/python -m pytest -q -m "soak or not soak" --no-skips tests/service/personalizer

check: $(READY)         ## style, types, import layers, exported names = documented names
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/test_exports.py

bench: $(BENCH)/ready   ## every peer beside ours, in one table, in about half an hour; installs the peers
	$(BENCH)/bin/python benchmarks/peers.py --install

browser:                ## Chromium, which the tests look at reports with: installed, where it is missing and may be
	@.ci/browser

setup: $(READY)         ## only make the environment

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, this is {sys.version}")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

$(BENCH)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]" || \
	  $(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $(BENCH)/ready

clean:                  ## remove the environments and everything made
	rm -rf $(VENV) $(BENCH) .venv-obp demo build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
