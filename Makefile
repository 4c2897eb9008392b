# Two commands do everything: `make reproduce` and `make test`. `make` alone lists the rest.

PYTHON ?= python3
VENV   ?= .venv
PAPER  ?= dtg
BIN    := $(VENV)/bin

# The environment is known by what it was made from: it is made once, and again only when that changes.
LOCK   := $(shell cat requirements.lock pyproject.toml | cksum | cut -d' ' -f1)
READY  := $(VENV)/made-from-$(LOCK)
QUIET  := $(if $(CI),--quiet,)
# uv is several times as fast as pip. Of 25,000 modules few are ever imported; each is compiled when it first is.
UV     := $(shell command -v uv)
PIP     = $(BIN)/pip install --disable-pip-version-check --no-compile
INSTALL = $(if $(UV),uv pip install --python $(BIN)/python,$(PIP))

MAKEFLAGS += --no-print-directory
# Jupyter sets it for a notebook, which may run make; the notebooks that make runs have no reader who writes in a field.
unexport JPY_SESSION_NAME
# Some images of containers set it; then each of many processes compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help setup data reproduce notebooks lab book test test-slow test-shapes test-all mutants style lint bench release clean lock

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make the environment in .venv (every other target does it too, where it is needed)

$(READY): | prerequisites
	@echo "making the environment in $(VENV) (some minutes, once)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(if $(UV),,$(PIP) --quiet pip==26.3)  # that of Python 3.11 takes twice as long
	@$(INSTALL) $(QUIET) --requirement requirements.lock
	@PYTHONWARNINGS=ignore $(INSTALL) --quiet --no-deps --editable .  # setuptools warns of all that are editable
	@$(BIN)/python -c 'import ipykernel, papermill, seaborn'
	@$(BIN)/dtglib surprisal --model dtg-books "It works ." >/dev/null  # what commands import is compiled, and tried
	@touch $@

.PHONY: prerequisites
prerequisites:
	@command -v $(PYTHON) >/dev/null || { echo "dtglib needs Python 3.11 or newer: install it, or name one with 'make PYTHON=...'"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dtglib needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1): install one, or name it with 'make PYTHON=...'"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' cannot make environments: install its venv package (Debian and Ubuntu: python3-venv)"; exit 1; }
	@command -v cc >/dev/null || { echo "dtglib needs a C compiler: install one (Debian and Ubuntu: build-essential; macOS: xcode-select --install)"; exit 1; }

data: $(READY)  ## fetch UD English, BLiMP, the SG suites and reading times into $DTG_DATA (default: data/), checked; NAMES="nltk books": Brown, MASC, 263 books
	@$(BIN)/dtglib data $(NAMES)

reproduce: $(READY)  ## run the notebooks, several at a time; SIZE=smoke|short|mini|..., PAPER=dtg|constituency|gilt|udgn|translation|reading|all
	@$(BIN)/dtglib reproduce $(SIZE:%=--size %) --paper $(PAPER)

notebooks: $(READY)  ## refresh the stored outputs and figures of the notebooks from their .py halves, at size smoke
	@CI=1 $(BIN)/jupytext --quiet --to ipynb --execute notebooks/*.py  # in CI there are no progress bars

lab: $(READY)  ## open JupyterLab on the notebooks
	@$(BIN)/jupyter lab notebooks

book: $(READY)  ## the notebooks and the reference as a site with search, in build/book/html
	@$(BIN)/python book/build.py

# A process a core; of the slow tests those that must have the machine to themselves come after the others.
TOGETHER := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# The files with tests that nothing may run beside: the others need not be imported for them.
ALONE := $(shell grep -rl 'mark\.alone' tests)
# A small file of each room where tensors go in and out: with every call checked, tests take several times as long.
CHECKED := structure attention output model trie stackcache perplexity
OF_PAPERS := gilt/test_gilt_attention translation/test_translation_network udgn/test_udgn udgn/test_structformer constituency/test_spans
CHECKED := $(CHECKED:%=tests/test_%.py) $(OF_PAPERS:%=tests/papers/%.py)

test: style  ## style, tests, and the notebooks against their stored outputs: 7 minutes on two slow cores
	@$(BIN)/pytest $(TOGETHER) -m 'not slow' --nbval-lax $(NOTEBOOKS) tests dtglib dtgpapers

test-slow: $(READY)  ## the tests that `make test` leaves out
	@$(BIN)/pytest $(TOGETHER) -m 'slow and not alone' --nbval-lax $(NOTEBOOKS) tests dtglib dtgpapers
	@$(BIN)/pytest -m alone $(ALONE)

test-shapes: $(READY)  ## some tests of each room again, with all shapes and types checked
	@$(BIN)/pytest $(TOGETHER) -m 'not slow' -k 'not heart' --jaxtyping-packages=dtglib,dtgpapers,beartype.beartype $(CHECKED)

test-all: lint  ## what CI runs: fast and slow tests together, those that run alone, and shapes
	@$(BIN)/pytest $(TOGETHER) -m 'not alone' --nbval-lax $(NOTEBOOKS) tests dtglib dtgpapers
	@$(BIN)/pytest -m alone $(ALONE)
	@$(MAKE) test-shapes

mutants: $(READY)  ## plant 200 small changes, one by one, and list those that no test notices: an hour or more
	@$(BIN)/python tests/mutants.py

style: $(READY)  ## ruff: style and formatting
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

lint: style  ## style, and types by mypy, which takes half a minute where nothing is kept
	@$(BIN)/mypy

bench: $(READY)  ## time what has a benchmark, and write the records into benchmarks/records/
	@for file in $(filter-out benchmarks/reproduction.py benchmarks/release.py,$(sort $(wildcard benchmarks/[a-z]*.py))); do $(BIN)/python $$file || exit 1; done

release: $(READY)  ## train the models that come with the package anew, into models/: hours
	@$(BIN)/python models/release.py --again

clean:  ## remove runs/ and caches (the environment and data/ stay)
	@rm -rf runs .mypy_cache .pytest_cache .ruff_cache .hypothesis build *.egg-info
	@find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# Newer versions of soupsieve do not run on Python 3.11.0 to 3.11.4, which Debian and Ubuntu have.
lock: | prerequisites  ## choose the newest versions of everything again: requirements.lock and environment.yml
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip install --disable-pip-version-check 'torch==2.13.0' 'soupsieve<3' --editable '.[book,notebooks,parser,test]'
	@$(BIN)/pip freeze --exclude-editable | sed 's/+cpu$$//' > requirements.lock
	@sed '/^      - /d' environment.yml > environment.yml.part
	@{ sed 's/^/      - /' requirements.lock; echo '      - --editable .'; } >> environment.yml.part
	@mv environment.yml.part environment.yml
