# The tasks of a working day, one word each. CONTRIBUTING.md says more about each; `.ci/run` is what a landing takes.
#   make build | test | quick | one T=tests/unit/lm/test_spec.py | rewrite | lint | format | docs | bench | sanitize | torture | ci

PYTHON ?= python3
BIN := .venv/bin
T ?= tests/unit

.DEFAULT_GOAL := help
.PHONY: help build test quick one rewrite lint format docs bench sanitize torture ci clean

help:
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv .venv

build: $(BIN)/python ## install the checkout for development; builds the kernels that changed
	$(BIN)/pip install --quiet 'scikit-build-core>=0.11' 'cython>=3.2' 'numpy>=2.0' ninja
	$(BIN)/pip install --quiet --no-build-isolation -e '.[test,lint]'

test: ## all tests
	$(BIN)/pytest -n logical

quick: ## most of the unit tests, and the golden statements in one arrangement
	$(BIN)/pytest -q -n 2 -m "not slow" --hypothesis-profile few -k "not test_every_statement_gets_its_answer or one_segment" \
	  --ignore tests/unit/serve --ignore tests/unit/cluster/test_cluster.py tests/unit tests/language tests/surface

one: ## some tests: make one T=tests/unit/lm/test_spec.py
	$(BIN)/pytest -q -x $(T)

rewrite: ## put present answers into the golden files and pages; look at `git diff` before you keep it
	-$(BIN)/pytest -q --rewrite tests/language tests/surface tests/docs tests/ui/test_cli_page.py
	-NGRAMDB_REWRITE=1 $(BIN)/pytest -q tests/ui/test_three_faces.py

lint: ## ruff and mypy, as .ci/run has them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: ## put Python into the house's form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: ## run every example of README.md and docs/
	$(BIN)/pytest -q tests/docs tests/ui/test_cli_page.py

bench: ## the benchmarks on a small corpus; benchmarks/README.md says what they need
	$(BIN)/python benchmarks/peers.py --quick

sanitize: ## the kernels under address, undefined-behaviour and thread sanitizers
	$(BIN)/pytest -q tests/sanitizers

torture: ## the programs of tests/torture in full, and ten times as many examples of each property: hours
	NGRAMDB_TORTURE=full $(BIN)/pytest --hypothesis-profile thorough tests/torture tests/crash tests/property

ci: ## everything that must hold for a landing, from nothing
	.ci/run

clean: ## what builds and tests left; .venv stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
