PYTHON ?= python3
CORES := $(shell getconf _NPROCESSORS_ONLN)
# One more than cores, because tests wait for servers and disks; more than 4 would wait for Spark.
JOBS ?= $(shell echo $$(($(CORES) < 4 ? $(CORES) + 1 : 4)))
SECONDS ?= 60
N ?= 500
ARGS ?=
VERSION ?=
# The seed of the properties' examples and the order of sets; without SEED, `make test` uses 1 and
# nightly tests a fresh one.
FRESH_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

# Tests start hundreds of processes; without bytecode each would compile the project again.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
CODE := $(wildcard src tests bench scripts/docs_site)
# The stamp is named after this folder: an environment copied from elsewhere has another stamp.
STAMP := .venv/.stamp-$(firstword $(shell printf '%s' '$(CURDIR)' | cksum))

NOT_FAST := not nightly and not spark and not postgres and not mariadb and not slow and not browser
# The packages that decide are fully covered by fixed tests of their own, without random examples.
COVERED := kernel models names
THEIR_TESTS := $(foreach package,$(COVERED),tests/$(package) src/lakewarden/$(package)) $(wildcard tests/systems/*/test_names.py)
PYTEST = PYTHONHASHSEED=$(SEED) $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder --hypothesis-seed=$(SEED)
COLLECT = $(BIN)/python -m pytest --quiet --collect-only

.DEFAULT_GOAL := help
.PHONY: help setup demo ui ui-types page-pictures test test-nightly test-fast coverage lint bench fuzz fuzz-control crash migrate-crash docs site golden
.PHONY: compiled-tests bench-pipeline bench-rivals bench-ui mutation lock dist version release clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv from requirements/dev.txt; does nothing when it is up to date
	@:

$(STAMP): requirements/dev.txt pyproject.toml
	PYTHON='$(PYTHON)' scripts/setup.sh $@

demo: setup ## Build a sample estate and serve it (ARGS=--once: ask a few questions and stop)
	@$(BIN)/python scripts/build_pages.py --once || echo 'demo: it goes on without the pages' >&2
	$(BIN)/lakewarden demo $(ARGS)

ui: setup ## Build the web pages, which the server then serves at /ui/
	@$(BIN)/python scripts/build_pages.py

page-pictures: ui ## Draw the pictures of docs/pages.md anew
	@DRAW_PAGES=1 $(BIN)/python -m pytest -q tests/ui/test_drawn.py

# The pages may not compile before their types are written: build them only if there is no build.
ui-types: setup ## Write the types of the API anew, which the pages are compiled against
	@$(BIN)/python scripts/build_pages.py --once
	@$(BIN)/python scripts/describe-api.py ui/openapi.json
	@cd ui && npm run --silent types

test test-fast coverage: SEED ?= 1
test-nightly: SEED ?= $(FRESH_SEED)

# The first collection of a clone compiles every test: two processes do half of it each; otherwise
# each worker would do all of it.
compiled-tests: setup
	@[ -d tests/__pycache__ ] || { \
	    $(COLLECT) tests/systems >/dev/null & $(COLLECT) tests --ignore=tests/systems >/dev/null; wait; }

# The servers that the tests start are installed while the gate runs, which needs none of them.
test: setup ## Run the tests, and the coverage gate (SEED=N: other examples)
	@PYTHON=$(BIN)/python scripts/install-test-tools.sh & installing=$$!; \
	    $(MAKE) --no-print-directory compiled-tests coverage SEED=$(SEED); covered=$$?; \
	    wait $$installing && exit $$covered
	$(PYTEST) -m 'not nightly and not coverage_gate'

coverage: setup ## The fixed tests of kernel, models and names alone, which have to cover them fully
	$(PYTEST) -n $(CORES) -m 'coverage_gate and not nightly' --cov --cov-report= $(THEIR_TESTS)
	$(BIN)/python -m coverage report --fail-under=100

test-nightly: setup ## Run what `make test` leaves out, properties with many fresh examples, and Trino (SEED=N)
	TRINO_TIER=$${TRINO_TIER:-night} PYTHON=$(BIN)/python scripts/install-test-tools.sh
	$(PYTEST) -m 'nightly or property or trino' --hypothesis-profile=night

test-fast: setup ## Run the tests that need no Spark, no database server and no browser
	$(PYTEST) -m '$(NOT_FAST)'

lint: setup ## Check format, style, types, import contracts and spelling; silent when clean
	@$(BIN)/ruff format --quiet --check --diff $(CODE)
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/mypy --no-error-summary $(CODE)
	@said=$$($(BIN)/lint-imports --no-logo) || { printf '%s\n' "$$said"; exit 1; }
	@$(BIN)/codespell

bench: setup ## Print the benches' results as JSON, keep them in build/bench (ARGS=--quick)
	@$(BIN)/python -m bench.w --json --save $(ARGS)
	@$(BIN)/python -m bench.attribute_rich --json --save $(ARGS)
	@$(BIN)/python -m bench.authzen --json --save $(ARGS)
	@$(BIN)/python -m bench.http --save
	@$(BIN)/python -m bench.start --save
	@$(BIN)/python -m bench.grant_visible --save
	@$(BIN)/python -m bench.visible_http --save
	@$(BIN)/python -m bench.search --save
	@$(BIN)/python -m bench.trino --save
	@$(BIN)/python -m bench.push --save $(filter --quick,$(ARGS))
	@$(BIN)/python -m bench.push --kind mysql --save $(filter --quick,$(ARGS))
	@$(BIN)/python -m bench.push --kind ranger --save $(filter --quick,$(ARGS))
	@$(BIN)/python -m bench.datahub --save

bench-pipeline: setup ## Measure the pipeline at estate scale (ARGS="--sizes 100k,1M --seeds 1")
	@$(BIN)/python -m bench.pipeline $(ARGS)

bench-rivals: setup ## Build OpenFGA, SpiceDB, OPA, Cedar and Casbin, ask them workload W (ARGS=--quick)
	@$(BIN)/python -m bench.rivals --save $(ARGS)

bench-ui: setup ui ## Measure the web pages in Chromium against their budgets (ARGS="--minutes 30")
	@$(BIN)/python -m bench.ui $(ARGS)

fuzz: setup ## Compare the kernel with the oracle on fresh random worlds (SECONDS=60)
	$(BIN)/python -m tests.agreement.fuzz --seconds $(SECONDS)

fuzz-control: setup ## Plant faults and see that the comparison finds each of them
	$(BIN)/python -m tests.agreement.control

mutation: setup ## Change the kernel in 300 places and count what its tests notice (ARGS="--seed 2")
	COSMIC_RAY=$$(PYTHON=$(BIN)/python scripts/client-environment.sh cosmic-ray 8.7.0 cosmic-ray) && \
	COSMIC_RAY=$$COSMIC_RAY $(BIN)/python -m tests.mutation $(ARGS)

crash: setup ## Kill writers at random moments and look at what they left (N=500 on each engine)
	$(BIN)/python -m tests.reliability.crash --trials $(N) --engine sqlite
	$(BIN)/python -m tests.reliability.crash --trials $(N) --engine postgres

migrate-crash: setup ## Kill schema changes at random moments (N=500 on each engine; 20 say much)
	$(BIN)/python -m tests.reliability.migrating --rows 100000 --trials $(N) --engine sqlite
	$(BIN)/python -m tests.reliability.migrating --rows 100000 --trials $(N) --engine postgres

docs: setup ## Write the generated pages anew
	$(BIN)/python -m lakewarden.testing.pages docs/models
	$(BIN)/python -m tests.analysis.lint.pages
	$(BIN)/python -m tests.expressions.pages
	$(BIN)/python -m tests.systems.gravitino.source_pages
	$(BIN)/python scripts/draw-pictures.py docs/pictures
	$(BIN)/python scripts/index-decisions.py docs/decisions

site: setup ## Build the documentation as a site: build/site/index.html
	@$(BIN)/python -m scripts.docs_site build/site

golden: docs page-pictures ## Write the golden files anew; review the difference like code

lock: ## For maintainers: pin requirements/ anew (ARGS=--upgrade: newest versions)
	PYTHON='$(PYTHON)' scripts/lock.sh $(ARGS)

dist: setup ## Build sdist and wheel twice, compare, check, list what is in them: dist/
	$(BIN)/python scripts/release.py dist

version: setup ## Write VERSION=1.2.3 wherever it stands, and close the changelog's section
	$(BIN)/python scripts/release.py version $(VERSION)

release: setup ## Check everything, build and tag VERSION=1.2.3; publish nothing (ARGS=--without-tests)
	$(BIN)/python scripts/release.py release $(VERSION) $(ARGS)

clean: ## Remove all that these commands made, the environment included
	rm -rf .venv build dist htmlcov .coverage .coverage.* .hypothesis
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
