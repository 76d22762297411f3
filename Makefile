# Thin: each target is one or two visible commands. `make help` lists them.
.DEFAULT_GOAL := help
BIN := .venv/bin
PAPERS := kitatsuji das3 uklight lambdastream
CAPTURED_DEMO := workflows/experiments/captured/demo.yaml
FUZZ_SECONDS ?= 60
# If set, each of the thousands of flowsweep processes in the tests compiles its modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build demo papers notebook docs live test test-rust test-beside test-alone fuzz trials bench truth check clippy check-text audit

help: ## Say what there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

build: ## Install what is missing, build programs and package into .venv
	@.config/prepare.sh build
	@env -u MAKEFLAGS -u MFLAGS .config/build.sh

demo: build ## Run the demo sweep (or analyse the one in the repository), write its report
	@if $(BIN)/flowsweep testbed check --quick --quiet; then file=workflows/experiments/demo.yaml; \
	else file=$(CAPTURED_DEMO); echo "No network namespaces here: analysing the sweep kept in the repository." >&2; fi; \
	$(BIN)/snakemake --configfile $$file
	@echo results/demo/report.html

papers: build ## The quick experiments of five papers, their tests, and what the papers state beside ours
	@.config/prepare.sh test
	@status=0; \
	for name in $(PAPERS); do $(BIN)/snakemake --configfile workflows/experiments/$$name-quick.yaml || status=1; done; \
	FLOWSWEEP_RESULTS=results $(BIN)/pytest tests/workloads/test_quick_experiments.py tests/workloads/test_paper_properties.py || status=1; \
	for name in $(PAPERS); do $(BIN)/flowsweep query published results/$$name-quick || status=1; done; \
	exit $$status

notebook: build ## The notebooks in JupyterLab
	@.config/prepare.sh notebook
	$(BIN)/jupyter lab notebooks/01-first-look.ipynb

docs: build ## The documentation as a site: docs/site/index.html
	@.config/prepare.sh docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --config-file docs/mkdocs.yml
	@echo docs/site/index.html

live: build ## DuckDB for `flowsweep report DIR --live`, a page that answers questions
	@.config/prepare.sh live

test: build ## Every test but the longest, which `make truth` runs
	@.config/prepare.sh test
	@status=0; $(MAKE) --no-print-directory --keep-going --jobs 2 test-rust test-beside || status=1; \
	$(MAKE) --no-print-directory test-alone || status=1; exit $$status

# Many of the tests that run beside these wait: these use the idle cores, and no job slots of make.
test-rust:
	@status=0; env -u MAKEFLAGS -u MFLAGS PROPTEST_RNG_SEED=2006 \
	nice .config/cargo test --workspace --locked --quiet >.venv/test-rust.log 2>&1 || status=1; \
	cat .venv/test-rust.log; exit $$status

test-beside:
	@env -u MAKEFLAGS -u MFLAGS \
	$(BIN)/pytest -m "not measured" --numprocesses 4 --dist loadscope --no-loadscope-reorder --durations 12

test-alone:
	@status=0; \
	env -u MAKEFLAGS -u MFLAGS .config/cargo test --workspace --lib --locked --quiet -- --ignored || status=1; \
	$(BIN)/pytest -m measured --durations 12 || status=1; exit $$status

fuzz: build ## Hostile inputs for readers and parser, FUZZ_SECONDS=60 for each of eleven; random experiments
	@.config/prepare.sh test
	@status=0; $(BIN)/python tests/fuzz/fuzz.py --seconds $(FUZZ_SECONDS) || status=1; \
	FLOWSWEEP_ALL_EXAMPLES=1 $(BIN)/pytest tests/report -k "random_experiments or whatever_was_run" || status=1; \
	. .config/toolchain.sh; \
	if ! command -v cargo-fuzz >/dev/null; then echo "fuzz: the parser is skipped: no cargo-fuzz (cargo install cargo-fuzz)" >&2; \
	else parsers/fuzz/run-all.sh $(FUZZ_SECONDS) || status=1; fi; exit $$status

trials: build ## Commands that are killed or refused at every write, rename, removal and sync; hours
	$(BIN)/python tests/trials/trials.py

bench: build ## Speed and accuracy beside named peers
	@.config/prepare.sh bench
	.config/cargo build --release --locked --examples -p flowsweep-parsers -p flowsweep-capture
	$(BIN)/python tests/bench/run.py
	$(BIN)/python tests/bench/ablation.py
	$(BIN)/python tests/bench/agent.py
	$(BIN)/python tests/bench/accuracy.py
	$(BIN)/python tests/bench/short_runs.py
	$(BIN)/python tests/bench/match.py
	$(BIN)/python tests/bench/zeek.py
	$(BIN)/python tests/bench/growth.py

truth: build ## What is inferred, against construction and the kernel; the long tests
	@.config/prepare.sh test
	@status=0; \
	FLOWSWEEP_ALL_EXAMPLES=1 $(BIN)/pytest tests/cluster/test_demo.py tests/engines || status=1; \
	for part in verdict intervals held_out drifts limits messages; do \
	echo "tests/truth/$$part.py"; $(BIN)/python tests/truth/$$part.py || status=1; done; exit $$status

check: build clippy check-text ## Format, lint, types, SQL, import layers

clippy:
	@env -u MAKEFLAGS -u MFLAGS nice .config/cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

check-text:
	.config/cargo fmt --all --check
	$(BIN)/ruff format --check python tests capture docs .config/*.py
	$(BIN)/ruff check python tests capture docs .config/*.py
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflows/rules
	$(BIN)/sqlfluff lint --processes 2 --disable-progress-bar reports
	PYTHONPATH=python $(BIN)/lint-imports --no-cache
	$(BIN)/python .config/words.py

audit: build ## Licences, sources and known faults of what we depend on; skips what it cannot ask
	@. .config/toolchain.sh; PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python .config/audit.py
