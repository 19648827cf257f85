# Everything is installed into .venv, which is made and kept up to date on demand.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?=
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11
BIN := .venv/bin
READY := .venv/.ready
UV := build/uv/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg

# The scripts in a .venv that was copied or moved still point at its old place, which pyvenv.cfg tells; one that has lost
# its Python cannot even say so. Either way its stamp goes, and it is made anew.
WORKS := $(BIN)/python -c 'import os; assert " " + os.path.realpath(".venv") + "\n" in open(".venv/pyvenv.cfg").read()'
$(shell $(WORKS) 2>/dev/null || rm -f $(READY))

.PHONY: help demo test check fast coverage spark bench soak docs lock clean

help: ## Print this list.
	@echo "Skyband: top-k publish/subscribe. The first target that needs it installs everything into .venv."
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  make \1@\2/p' Makefile | while IFS=@ read -r target sentence; do \
	    printf '%-16s %s\n' "$$target" "$$sentence"; done

demo: $(READY) ## Show a seeded day in a city in this terminal, then a summary and a picture.
	@echo "==> demo: a seeded day in a city"
	@$(BIN)/skyband demo

test: check fast coverage spark docs ## Run all that a change must pass: check, fast, coverage, spark and docs.
	@echo "==> test: everything passed"

check: $(READY) ## Check lint, format, types and layers.
	@echo "==> check: lint (ruff)"
	@$(BIN)/ruff check .
	@echo "==> check: format (ruff)"
	@$(BIN)/ruff format --check .
	@echo "==> check: types (mypy)"
	@$(BIN)/mypy
	@echo "==> check: layers (import-linter)"
	@$(BIN)/lint-imports

# Benchmarks are tested by coverage.
fast: $(READY) ## Run the tests with compiled kernels.
	@echo "==> fast: compiling ahead, so that no two tests compile the same"
	@$(BIN)/skyband warm
	@echo "==> fast: the tests, kernels compiled"
	@SKYBAND_PROFILE=ci $(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/bench -m "not soak and not spark"

coverage: $(READY) ## Run the tests with the JIT off, and count the branches they take.
	@echo "==> coverage: the tests, JIT off, branches counted"
	@NUMBA_DISABLE_JIT=1 SKYBAND_PROFILE=coverage $(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/bench \
	    -m "not soak and not spark and not jit_only" --cov=skyband --cov-branch --cov-report=

# Spark's workers and benchmarks run with compiled kernels: without the JIT they take longer. Tests of one file stay
# together, so that a server or a session is started once for all of them.
spark: $(READY) ## Run the tests on Spark and those of benchmarks; with coverage before them, 90% of branches are taken.
	@echo "==> spark: the tests on Spark, branches counted"
	@SKYBAND_PROFILE=ci $(BIN)/python -m pytest -n 2 --dist loadfile --ignore=tests/bench -m "spark and not soak" \
	    --cov=skyband --cov-branch --cov-append --cov-report=
	@echo "==> spark: the tests of benchmarks, branches counted"
	@SKYBAND_PROFILE=ci $(BIN)/python -m pytest -n 2 --dist worksteal tests/bench \
	    --cov=skyband --cov-branch --cov-append --cov-fail-under=90

bench: $(READY) ## Run every benchmark and store its raw rows.
	@echo "==> bench: every benchmark"
	@$(BIN)/skyband bench all

soak: $(READY) ## Run the long random tests, which take hours; stopped, it goes on where it was.
	@echo "==> soak: the long random tests; what has passed with these sources is not run again"
	@SKYBAND_PROFILE=soak $(BIN)/python -m pytest -n 2 --dist worksteal -m soak

docs: $(READY) ## Build the documentation into build/docs; any warning fails.
	@echo "==> docs: building build/docs/index.html"
	@$(BIN)/python -m sphinx -W --keep-going -n -q -d build/doctrees docs build/docs

lock: ## Choose the newest versions that fit and write them, with hashes, to requirements.lock (needs the network).
	@echo "==> lock: resolving pyproject.toml for every platform and Python from 3.11 on"
	@$(find_python); "$$python" -m venv --clear build/uv
	@$(UV)/python -m pip install --quiet uv
	@$(UV)/python -c 'import tomllib; \
	    print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > build/backend.in
	@$(UV)/uv pip compile pyproject.toml build/backend.in --output-file requirements.lock --quiet --no-config \
	    --universal --python-version 3.11 --all-extras --generate-hashes --fork-strategy fewest --upgrade \
	    --no-annotate --custom-compile-command "make lock"
	@echo "    requirements.lock holds $$(grep -c == requirements.lock) packages"

clean: ## Remove .venv and all that was built or cached in this folder.
	@echo "==> clean: removing .venv, build, dist and the tools' caches"
	@rm -rf .venv build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A candidate is tried by running it: a shim on the PATH may name a Python that is not there.
define find_python
python=""; for candidate in $(CANDIDATES); do \
    if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
        python="$$candidate"; break; fi; done; \
if [ -z "$$python" ]; then \
    echo "Skyband needs Python 3.11 or newer with its venv module, and none of these is one: $(strip $(CANDIDATES))." >&2; \
    echo "Install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; fi
endef

# One moving line on a terminal, nothing in a log; what pip has to complain of goes to stderr untouched.
define show_progress
while read -r word name _; do \
    if [ -t 1 ] && [ "$$word" = Collecting ]; then printf '\r    %-60.60s' "$$name"; fi; \
    if [ -t 1 ] && [ "$$word" = Installing ]; then printf '\r    %-60s' "unpacking"; fi; done; \
if [ -t 1 ]; then printf '\r%-66s\r' ""; fi
endef

# --no-deps: the lock names every package. Where one asks for another with an extra (coverage[toml]), an older pip takes the
# newest release in place of the locked one, and then misses its hash. `pip check` tells whether the lock is complete.
$(READY): requirements.lock pyproject.toml
	@if ! $(WORKS) 2>/dev/null; then $(find_python); \
	    echo "==> set-up: making .venv with $$("$$python" -V)"; "$$python" -m venv --clear .venv; fi
	@echo "==> set-up: installing $$(grep -c == requirements.lock) locked packages (the first time takes a minute or two)"
	@$(BIN)/python -m pip install --no-deps --only-binary :all: --no-binary pyspark --require-hashes -r requirements.lock \
	    | { $(show_progress); }
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check --quiet
	@touch $(READY)
