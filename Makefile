# Every target but help and clean begins with set-up, which does nothing when there is nothing to do.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := flowc components runners templates

# TensorFlow's start-up notes would drown what flowc says. Errors stay.
export TF_CPP_MIN_LOG_LEVEL ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fmt docs schema bench lock upgrade clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install everything, pinned, into .venv (PYTHON=python3.12 chooses the interpreter)
	@$(PYTHON) tools/setup

demo: setup ## Run both examples and show what they made
	@tools/demo

test: setup ## Run the tests (ARGS='-n 2 tests/ir' is handed to pytest)
	@$(BIN)/python -m pytest $(ARGS)

check: setup ## Check format, lint, types and import layers
	$(BIN)/ruff format --check --output-format concise
	$(BIN)/ruff check --output-format concise
	$(BIN)/mypy --strict $(SOURCES)
	$(BIN)/lint-imports --no-logo

fmt: setup ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

docs: setup ## Write docs/diagnostics again, from the pages of the codes
	@$(BIN)/python -c 'from pathlib import Path; from flowc.check.markdown import write_documents; write_documents(Path("docs/diagnostics"))'

schema: setup ## Publish the IR's JSON Schema again, in docs/ir-schema.json
	@$(BIN)/python -c 'import json; from flowc.ir.json import json_schema; print(json.dumps(json_schema(), indent=2))' > docs/ir-schema.json

bench: setup ## Run the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

lock: ## Bring locks/ in line with pyproject.toml, for every world; what still fits stays
	@$(PYTHON) tools/lock

upgrade: ## As lock, but take the newest of everything
	@$(PYTHON) tools/lock --upgrade

clean: ## Remove caches and build outputs
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -not -path './.tools/*' -prune -exec rm -rf {} +

distclean: clean ## Remove what set-up installed, too
	rm -rf .venv .tools
