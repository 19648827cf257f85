# Everything is installed into .venv, which is made and kept up to date on demand.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?=
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11
BIN := .venv/bin
READY := .venv/.ready
UV := build/uv/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg
# The tests start Python very often: with byte code, collecting them takes 7 s instead of 14.
unexport PYTHONDONTWRITEBYTECODE

# Targets that leave a core idle now and then run side by side; what each prints stays together.
SIDE_BY_SIDE := $(MAKE) --no-print-directory --jobs $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
PYTEST := $(BIN)/python -m pytest -q --dist worksteal --junitxml
COUNTED := --cov=skyband --cov-branch --cov-report=

# The scripts in a .venv that was copied or moved still point at its old place, which pyvenv.cfg tells; one that has lost
# its Python cannot even say so. Either way its stamp goes, and it is made anew.
WORKS := $(BIN)/python -c 'import os; assert " " + os.path.realpath(".venv") + "\n" in open(".venv/pyvenv.cfg").read()'
$(shell $(WORKS) 2>/dev/null || rm -f $(READY))

.PHONY: help demo test quick check warm fast coverage spark bench peers soak docs lock clean

help: ## Print this list.
	@echo "Skyband: top-k publish/subscribe. The first target that needs it installs everything into .venv."
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  make \1@\2/p' Makefile | while IFS=@ read -r target sentence; do \
	    printf '%-16s %s\n' "$$target" "$$sentence"; done

demo: $(READY) ## Show a seeded day in a city in this terminal, then a summary and a picture.
	@echo "==> demo: a seeded day in a city"
	@$(BIN)/skyband demo

# Spark leaves cores idle while it waits, and other tests take them; docs/testing.md has what each takes.
test: $(READY) ## Run all that a change must pass: check, docs, fast, spark and coverage.
	@rm -rf build/coverage build/times
	@$(SIDE_BY_SIDE) warm check docs
	@$(SIDE_BY_SIDE) fast spark coverage
	@echo "==> test: branches taken, of all"
	@$(BIN)/coverage combine --quiet --keep --data-file=.coverage build/coverage
	@$(BIN)/coverage report --fail-under=90
	@echo "==> test: everything passed"

quick: $(READY) ## Run a short form of all checks and tests but those on Spark, for the loop of a day.
	@echo "==> quick: lint, format, types and layers beside the tests in their shortest form"
	@$(SIDE_BY_SIDE) check short

.PHONY: short
short: $(READY)
	@SKYBAND_PROFILE=quick $(PYTEST)=build/times/quick.xml -n 2 --ignore=tests/bench --ignore=tests/blackbox \
	    --ignore=tests/contract/test_mutants.py --ignore=tests/peers --ignore=tests/pipeline/test_postgres.py \
	    --ignore=tests/test_resuming.py -m "not soak and not spark"

check: $(READY) ## Check lint, format, types and layers.
	@echo "==> check: lint (ruff)"
	@$(BIN)/ruff check .
	@echo "==> check: format (ruff)"
	@$(BIN)/ruff format --check .
	@echo "==> check: types (mypy)"
	@$(BIN)/mypy
	@echo "==> check: layers (import-linter)"
	@$(BIN)/lint-imports

warm: $(READY) ## Compile every engine ahead, so that no two tests compile the same.
	@echo "==> warm: compiling every engine"
	@$(BIN)/skyband warm --all --processes 2

# Compiled runs count every branch but those of kernels. These, of all tests of engines, take branches of kernels that the
# tests of kernels do not. What they take of all else is counted with them, and not a second time where they are compiled.
BY_ENGINES := $(addprefix tests/,contract/test_contract.py covering/test_search.py geotext/test_earth.py \
    geotext/test_engine.py geotext/test_igpt.py overlay/network ranges/test_batch.py ranges/test_higher.py ranges/test_server.py \
    ranges/test_subscribers.py ranges/test_wire.py ranked/test_cells.py ranked/test_engine.py topk/test_bands.py \
    topk/test_cell_store.py topk/test_delivery_memory.py topk/test_scan.py window/test_geodesic.py window/test_grid_index.py \
    window/test_sparse_index.py)
# What runs a network again and again until a fault shows takes no branches that other networks do not.
SEEKING := $(addprefix tests/overlay/test_,count.py kills.py planted.py properties.py retention.py retraction.py strangers.py)
BY_ENGINES += $(filter-out $(SEEKING),$(wildcard tests/overlay/test_*.py))
KERNELS := $(wildcard tests/kernels tests/*/kernels)

fast: $(READY) ## Run the tests with compiled kernels, those of benchmarks too, and count branches.
	@echo "==> fast: the tests, kernels compiled, branches counted"
	@mkdir -p build/coverage
	@COVERAGE_FILE=$(CURDIR)/build/coverage/.coverage.fast SKYBAND_PROFILE=ci \
	    SKYBAND_COUNTED_ELSEWHERE="$(KERNELS) $(BY_ENGINES)" $(PYTEST)=build/times/fast.xml -n 2 $(COUNTED) -m "not soak and not spark"

coverage: $(READY) ## Run the tests of kernels with the JIT off, and count branches.
	@echo "==> coverage: the tests of kernels, JIT off, branches counted"
	@mkdir -p build/coverage
	@COVERAGE_FILE=$(CURDIR)/build/coverage/.coverage.kernels NUMBA_DISABLE_JIT=1 SKYBAND_PROFILE=coverage \
	    $(PYTEST)=build/times/coverage.xml -n 1 $(COUNTED) -m "not soak and not spark and not jit_only" \
	    $(KERNELS) $(BY_ENGINES)

# Tests of one file stay together, so that a server or a session is started once for all of them.
spark: $(READY) ## Run the tests on Spark, and count branches.
	@echo "==> spark: the tests on Spark, branches counted"
	@mkdir -p build/coverage
	@COVERAGE_FILE=$(CURDIR)/build/coverage/.coverage.spark SKYBAND_PROFILE=ci $(PYTEST)=build/times/spark.xml -n 1 \
	    --dist loadfile $(COUNTED) --ignore=tests/bench -m "spark and not soak"
	@echo "==> spark: the toy benchmark of the pipeline, which starts sessions of its own, branches counted"
	@COVERAGE_FILE=$(CURDIR)/build/coverage/.coverage.bench SKYBAND_PROFILE=ci $(PYTEST)=build/times/bench.xml -n 1 \
	    $(COUNTED) tests/bench -m "spark and not soak" || [ $$? -eq 5 ]  # there is none where the pipeline has not changed

bench: $(READY) ## Run every benchmark and store its raw rows.
	@echo "==> bench: every benchmark"
	@$(BIN)/skyband bench all

peers: $(READY) ## Run other systems beside Skyband and store the raw rows (fetches them from the network).
	@echo "==> peers: other systems beside Skyband, in build/peers"
	@$(BIN)/python -m bench.peers

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
# Spark is built from its sources, which takes one core as long as all other packages take the other. nkeys is small, and
# there is nothing but sources of it.
LOCKED := --no-deps --only-binary :all: --no-binary pyspark,nkeys --require-hashes
$(READY): requirements.lock pyproject.toml
	@if ! $(WORKS) 2>/dev/null; then $(find_python); \
	    echo "==> set-up: making .venv with $$("$$python" -V)"; "$$python" -m venv --clear .venv; fi
	@echo "==> set-up: installing $$(grep -c == requirements.lock) locked packages (the first time takes a minute or two)"
	@mkdir -p build
	@awk '/^[a-z0-9]/ { of = /^pyspark==/ ? "spark" : "others" } of { print > "build/lock-" of ".txt" }' requirements.lock
	@$(BIN)/python -m pip install --quiet $(LOCKED) -r build/lock-spark.txt & spark=$$!; \
	    $(BIN)/python -m pip install $(LOCKED) -r build/lock-others.txt | { $(show_progress); } && wait $$spark
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check --quiet
	@touch $(READY)
