# Two commands do all: `make ablation` and `make test`. Both prepare .venv first, and reuse it afterwards.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: ablation test chaos sanitize setup scatter lint types pytest docs bench wheel clean

ablation: setup  ## train the encoders of the RNN-flavour ablation and print the table
	$(BIN)/python -m gredkit.run --gin ablations/rnn_flavors.gin

test: setup lint  ## lint, types and tests; the types are checked beside the tests
	$(MAKE) --no-print-directory -j2 types pytest

pytest: setup
	$(BIN)/python -m pytest -n auto --dist worksteal

chaos: setup  ## the long form of tests/chaos: kills, damaged files, mistakes, full disks, a bad connection
	$(BIN)/python -m pytest -n auto --dist worksteal tests/chaos --long

sanitize: setup  ## the tests of the kernels with AddressSanitizer and UBSan
	$(BIN)/python tests/nn/kernels/sanitize.py

setup: .venv/.ready  ## create .venv and install gredkit with what its tests need

.venv/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

scatter: setup  ## build torch-scatter against the installed torch (several minutes)
	$(BIN)/python -m pip install --quiet -c constraints.txt setuptools wheel
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation -e '.[dev,scatter]'

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	$(BIN)/mypy

docs: setup  ## build the site of docs/ into site/
	$(BIN)/python -m mkdocs build -f docs/site/mkdocs.yml

bench: setup  ## race gredkit against the usual ways
	$(BIN)/python -m gredkit.bench

wheel: setup  ## build the sdist and the wheel in dist/, and check what PyPI would show
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

clean:
	rm -rf .venv
