# `make help` lists what can be asked for. Everything works on a machine that has only Python, make
# and apt: what is missing is installed first, and what is up to date is left alone.

PYTHON ?= python3

BIN := .venv/bin
INSTALLED := .venv/.installed
NODE_MODULES := runtime/node_modules/.package-lock.json
# What people put into their pages, for the tests.
LIBRARIES := tests/e2e/libraries/node_modules/.package-lock.json
TYPESCRIPT := clients/typescript/node_modules/.package-lock.json
# The types of the API, for the TypeScript client.
SCHEMA := clients/typescript/src/schema.ts
API_SOURCES := $(shell find src/framekiln/api -name '*.py')
WRITE_SCHEMA = $(BIN)/python scripts/write_openapi.py clients/typescript/openapi.json && \
  cd clients/typescript && npm run --silent schema
RUNTIME := src/framekiln/capture/runtime.js
STUDIO := src/framekiln/studio/static/app.html
STUDIO_MODULES := studio/node_modules/.package-lock.json
KERNEL := src/framekiln/pixels/libkernel.so.1
# What speech is recognized with; the package itself carries no models.
SPEECH := .venv/share/framekiln/models/.fetched
RUNTIME_SOURCES := $(shell find runtime/src -name '*.ts') $(wildcard runtime/*.json runtime/*.mjs)
STUDIO_SOURCES := $(shell find studio/src clients/typescript/src -type f ! -name schema.ts) runtime/src/elements/vocabulary.ts $(wildcard studio/*.json studio/*.mjs)

# Files of tests run two at a time for each core, since each takes turns between computing and
# waiting, but at most eight, for memory. Files that share a service count as one: see
# tests/conftest.py.
PYTEST_PROCESSES ?= $(shell cores=$$(nproc); echo $$((cores < 4 ? 2 * cores : 8)))
PYTEST_WORKERS ?= --numprocesses $(PYTEST_PROCESSES) --dist loadfile --no-loadscope-reorder

# What `make check` and `make test` do first, as many at a time as there are cores.
CHECKS := check-types check-python check-runtime check-studio check-client
SCRIPT_TESTS := test-runtime test-studio test-client
# Rewritten once, not by each process of pytest.
COMPILED_TESTS := .venv/.tests-compiled
TEST_SOURCES := $(shell find tests -name node_modules -prune -o -name '*.py' -print)
TEST_FOLDERS := tests/unit tests/fuzz tests/contract tests/e2e
AT_ONCE = $(MAKE) --no-print-directory --jobs=$$(nproc) --output-sync=target

# How tests of pages have frames made: filmed, composed or auto; as films are by default, if empty.
PAGE_METHOD ?=
export FRAMEKILN_TEST_PAGE_METHOD := $(PAGE_METHOD)

# PAUSES=1 makes tests wait at random, as on a busy machine: see tests/support/pauses.py.
PAUSES ?=
export FRAMEKILN_TEST_PAUSES := $(PAUSES)

# For all targets of `make fuzz` together.
FUZZ_SECONDS ?= 60

# Node and npm come with the Python packages.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHON
# Compiled modules are kept: without them every process compiles all of its modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help system setup serve check test e2e fuzz goldens examples bench bench-peers ci spec-report notice sbom format client-typescript clean $(CHECKS) $(SCRIPT_TESTS)

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile

system: # Programs and fonts; does nothing when all are there
	@scripts/install_system.sh

setup: $(INSTALLED) $(RUNTIME) $(STUDIO) $(KERNEL) $(SPEECH) ## Install everything that is needed, and build what is built

serve: setup ## Start the service on this machine; Ctrl-C stops it
	@exec $(BIN)/framekiln serve

check: setup $(NODE_MODULES) $(STUDIO_MODULES) $(SCHEMA) ## Check style, types, import rules and our own lints
	@$(AT_ONCE) $(CHECKS)

test: setup $(NODE_MODULES) $(STUDIO_MODULES) $(SCHEMA) $(LIBRARIES) ## Run all checks and all tests
	@$(AT_ONCE) $(CHECKS) $(COMPILED_TESTS) $(SCRIPT_TESTS)
	$(BIN)/pytest $(PYTEST_WORKERS) $(TEST_FOLDERS)

# The slowest first.
check-types:
	$(BIN)/mypy

check-python:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	for lint in scripts/lint/*.py; do $(BIN)/python "$$lint" || exit 1; done

check-runtime check-studio: check-%:
	cd $* && npm run --silent check

check-client:
	cd clients/typescript && npm run --silent check

test-runtime test-studio: test-%:
	cd $* && npm test --silent

test-client:
	cd clients/typescript && npm test --silent

e2e: setup $(LIBRARIES) ## Run only the tests of the whole service
	$(BIN)/pytest $(PYTEST_WORKERS) tests/e2e

fuzz: setup ## Feed random input to everything that reads input of strangers, for FUZZ_SECONDS
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

goldens: setup $(LIBRARIES) ## Make the pictures anew that renders are compared with
	$(BIN)/python scripts/make_goldens.py

examples: setup ## Make the pictures of the examples anew; look at each that changes
	$(BIN)/python scripts/make_examples.py

bench: setup ## Measure; CASES="renders layers" for some of it
	$(BIN)/python -m tests.bench $(CASES)

bench-peers: setup ## Compare with Remotion and HyperFrames; CASES="titles canvas" for some of it
	$(BIN)/python -m tests.bench.peers $(CASES)

ci: test ## Do what the build does

spec-report: setup ## List the clauses of the specification that no test covers
	$(BIN)/python scripts/spec_report.py

notice: setup ## Write NOTICE anew, after packages have changed
	$(BIN)/python scripts/inventory.py notice

sbom: setup ## Write sbom.json: what this installation consists of (CycloneDX)
	$(BIN)/python scripts/inventory.py sbom sbom.json

format: setup $(NODE_MODULES) $(STUDIO_MODULES) $(TYPESCRIPT) ## Put all source text in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cd runtime && npm run --silent format
	cd clients/typescript && npm run --silent format
	cd studio && npm run --silent format

client-typescript: setup $(TYPESCRIPT) ## Check, test and pack the TypeScript client into dist/
	$(WRITE_SCHEMA)
	cd clients/typescript && npm run --silent check && npm test --silent
	cd clients/typescript && rm -rf dist && npm run --silent build
	@mkdir -p dist
	cd clients/typescript && npm pack --silent --pack-destination ../../dist

clean: ## Remove what was installed and built here; never the data
	rm -rf .venv runtime/node_modules studio/node_modules src/framekiln/studio/static tests/e2e/libraries/node_modules clients/typescript/node_modules $(SCHEMA) $(RUNTIME) $(KERNEL) build dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests scripts -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/uv: requirements/uv.txt | system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed; set PYTHON to one" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	  --require-hashes -r requirements/uv.txt
	@touch $@

$(INSTALLED): requirements/dev.txt pyproject.toml $(BIN)/uv | system
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	$(BIN)/python scripts/build_typescript.py
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@# The account of a service that root starts may not write compiled modules here.
	-$(BIN)/python -m compileall -q -j 0 .venv/lib/python3*/site-packages src/framekiln
	@touch $@

$(RUNTIME): $(RUNTIME_SOURCES) $(INSTALLED)
	$(BIN)/python scripts/build_typescript.py
	@touch $@

$(STUDIO): $(STUDIO_SOURCES) $(INSTALLED)
	$(BIN)/python scripts/build_typescript.py
	@touch $@

# Stays away where there is no compiler; then it is asked for again each time.
$(KERNEL): src/framekiln/pixels/kernel.c scripts/build_kernel.py $(INSTALLED)
	$(BIN)/python scripts/build_kernel.py
	@test ! -e $@ || touch $@

$(SPEECH): src/framekiln/speech/pinned_models.py scripts/fetch_speech_models.py $(INSTALLED)
	$(BIN)/python scripts/fetch_speech_models.py
	@touch $@

$(NODE_MODULES): runtime/package-lock.json $(INSTALLED)
	cd runtime && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(STUDIO_MODULES): studio/package-lock.json $(INSTALLED)
	cd studio && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(TYPESCRIPT): clients/typescript/package-lock.json $(INSTALLED)
	cd clients/typescript && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Takes seconds, so a change of a domain alone does not make it anew; packing the client does.
$(SCHEMA): $(TYPESCRIPT) $(API_SOURCES)
	$(WRITE_SCHEMA)
	@touch $@

$(COMPILED_TESTS): $(TEST_SOURCES)
	$(BIN)/pytest --collect-only -qq $(TEST_FOLDERS) > $@.log || { cat $@.log; exit 1; }
	@mv $@.log $@

$(LIBRARIES): tests/e2e/libraries/package-lock.json $(INSTALLED)
	cd tests/e2e/libraries && npm ci --no-audit --no-fund --loglevel=error
	@touch $@
