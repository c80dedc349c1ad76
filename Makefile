# Two commands on a fresh machine: `make demo` and `make test`. Everything is installed into .venv with plain pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m ragworthy

.PHONY: demo test check format bench fuzz docs clean

demo: $(VENV)/.demo
	$(RUN) demo --out demo-out

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -q

check: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix src tests benchmarks docs
	$(BIN)/ruff format src tests benchmarks docs

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/retrieval.py
	$(BIN)/python benchmarks/structured.py
	$(BIN)/python benchmarks/pipeline.py

fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds 60 --keep-going

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[http,plot]"
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.dev: pyproject.toml requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt -e ".[all]"
	$(BIN)/python -m compileall -q src
	touch $@

clean:
	rm -rf $(VENV) demo-out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
