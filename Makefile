# Two commands do everything on a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint bench docs wheel smoke reproduce-quick clean

demo: $(VENV)/.installed
	$(BIN)/noap demo --force

# Two processes; the tests of a file stay together, because they share what their fixtures made.
test: lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# Every page of the site: formulas, titles, pictures, and in a browser nothing that a screen cuts off.
.PHONY: test-docs
test-docs: docs $(VENV)/.installed-dev
	NOAP_SITE=site $(BIN)/python -m pytest tests/test_site.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A part of every board, about ten minutes; DATA=folder adds public matrices. A peer that does not install sits out.
bench: $(VENV)/.installed-dev
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks --quick $(if $(DATA),--data $(DATA))

# The paper's figures with two trials and one second per program; `noap reproduce all` is the long way.
reproduce-quick: $(VENV)/.installed-dev
	$(BIN)/noap reproduce all --quick

# The site, in site/index.html; its examples are run, and a warning is an error.
docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --fresh-env docs site
	@echo "The site is in site/index.html."

# What others install, in dist/. The wheel is made from the sdist, which therefore lacks nothing.
wheel: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

# Wheel and sdist in an environment that holds nothing else: half a minute.
smoke: wheel
	rm -rf build/smoke
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip install --quiet --no-compile --disable-pip-version-check dist/noap-*.whl
	build/smoke/bin/python -I tests/smoke.py
	build/smoke/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --force-reinstall dist/noap-*.tar.gz
	build/smoke/bin/python -I tests/smoke.py --short

# The stamps make the second run quick: nothing is installed again until pyproject.toml changes.
$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis site docs/_executed dist build
