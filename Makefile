# Two commands on a fresh machine: `make demo` and `make test`. Everything is installed into .venv with plain pip;
# the tools for releases have a .venv-release of their own.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m ragworthy
RELEASE := .venv-release
FRAMEWORKS := .venv-frameworks
PEERS := .venv-peers
MODEL := .real-model
BROWSER := .browser
SITE := .venv-site
PROMPTFOO := .promptfoo
PIP := -m pip install --quiet --disable-pip-version-check
LINTED := src tests benchmarks docs examples release

.PHONY: demo test soak check format bench fuzz docs frameworks clean peers real-model test-real browser site promptfoo screens
.PHONY: test-oldest test-newest test-matrix test-smoke dist dist-check sbom audit lock

demo: $(VENV)/.demo
	$(RUN) demo --out demo-out

# A process more than a small machine has cores: what waits for a clock or a server leaves its core to the others.
WORKERS ?= 3
# Bytecode is kept even where the environment says otherwise: without it every process compiles the tests and the sources
# again, 85 seconds in all. Neighbouring tests stay in one process, so that what a module sets up is set up once.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

test: $(VENV)/.dev
	$(PYTEST)

# The same with all repetition: tests/soak.py.
soak: $(VENV)/.dev
	RAGWORTHY_SOAK=1 $(PYTEST)

check: $(VENV)/.dev
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(LINTED)
	$(BIN)/ruff format $(LINTED)

# Everything against what else one would take: benchmarks/RESULTS.md and the charts of the README. BENCH takes options.
bench: $(VENV)/.dev $(PEERS)/.ready
	$(BIN)/python benchmarks/whole.py $(BENCH)

fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds 60 --keep-going

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

# The pages of docs/ and design/ as a site, in build/site: open build/site/index.html. Nothing is loaded from elsewhere.
site: $(SITE)/.ready
	$(SITE)/bin/sphinx-build --quiet --fail-on-warning --keep-going -b html -c docs/site -d build/site-cache . build/site
	@echo "site: build/site/index.html"

# LangChain, LlamaIndex and Haystack, with this checkout: what tests/frameworks and the examples of these run in.
frameworks: $(FRAMEWORKS)/.ready

# The tools whose users docs/from-ragas.md and docs/from-deepeval.md are for, beside Ragworthy: 1 GB, two minutes.
peers: $(PEERS)/.ready

# What docs/from-promptfoo.md is tried with: 1.4 GB, a minute; needs npm.
promptfoo: $(PROMPTFOO)/.ready

# A real chat model for docs/real-model.md: 130 MB, a quarter of a minute.
real-model: $(MODEL)/.ready

# The pictures of the HTML report in docs/screens, taken anew with Debian's chromium.
screens: $(VENV)/.dev
	$(BIN)/python docs/screens.py

# What the browser tests hold pages against, beside Debian's chromium: axe-core, 3 MB.
browser: $(BROWSER)/.ready

# The chat answerer on all 72 questions of the handbook with that model: ten minutes. `make test` asks a few.
test-real: $(VENV)/.dev $(MODEL)/.ready
	RAGWORTHY_REAL=all $(BIN)/python -m pytest -q tests/real_model

# The tests with the oldest and the newest dependencies that pyproject.toml allows, on every Python of this machine.
# `make test-smoke` runs the part that uses the dependencies most; ON=3.11 keeps to that Python.
WHICH ?= oldest newest
ON ?=
test-matrix: $(RELEASE)/.ready
	$(RELEASE)/bin/python release/matrix.py $(WHICH)

test-oldest test-newest: $(RELEASE)/.ready
	$(RELEASE)/bin/python release/matrix.py $(@:test-%=%)

test-smoke: $(RELEASE)/.ready
	$(RELEASE)/bin/python release/matrix.py $(WHICH) --smoke $(addprefix --python ,$(ON))

# The wheel and the source distribution of the last commit, in dist/.
dist: $(RELEASE)/.ready
	release/dist.sh

dist-check: $(RELEASE)/.ready
	release/reproduce.sh

sbom: dist
	$(RELEASE)/bin/python release/sbom.py dist/ragworthy-*.whl

# AUDIT takes options of pip-audit, for example another service.
audit: $(RELEASE)/.ready
	$(RELEASE)/bin/python release/audit.py $(AUDIT)

# The newest versions that fit together, for Python 3.11 and later. Run the tests before you commit them.
lock: $(RELEASE)/.ready
	$(RELEASE)/bin/uv pip compile --quiet --no-config --upgrade --universal --python-version 3.11 --extra all --extra spark -c requirements-test.txt \
		--custom-compile-command "make lock" pyproject.toml -o requirements-runtime.txt

$(VENV)/.demo: pyproject.toml requirements-runtime.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c requirements-runtime.txt -e ".[retrieval,http,plot]"
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.dev: pyproject.toml requirements-runtime.txt requirements-test.txt requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -r requirements-dev.txt -e ".[all,spark]"
	$(BIN)/python -m compileall -q src
	touch $@

$(RELEASE)/.ready: requirements-release.txt
	test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python $(PIP) -r requirements-release.txt
	touch $@

$(SITE)/.ready: requirements-site.txt
	test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python $(PIP) -r requirements-site.txt
	touch $@

$(FRAMEWORKS)/.ready: pyproject.toml requirements-runtime.txt requirements-frameworks.txt
	test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python $(PIP) -r requirements-frameworks.txt -e ".[retrieval,http]"
	touch $@

$(PEERS)/.ready: pyproject.toml requirements-runtime.txt requirements-peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP) -r requirements-peers.txt -e ".[retrieval,http]"
	touch $@

$(BROWSER)/.ready: Makefile
	npm install --silent --no-audit --no-fund --no-save --prefix $(BROWSER) axe-core@4.14.0
	touch $@

$(PROMPTFOO)/.ready:
	npm install --silent --no-audit --no-fund --prefix $(PROMPTFOO) promptfoo@0.121.20
	touch $@

$(MODEL)/.ready: examples/real-model/get_model.py
	$(PYTHON) examples/real-model/get_model.py $(MODEL)
	touch $@

clean:
	rm -rf $(VENV) $(RELEASE) $(FRAMEWORKS) $(PEERS) $(MODEL) $(BROWSER) $(SITE) $(PROMPTFOO) .venv-matrix demo-out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
