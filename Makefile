# make run    the console on the shipped runs          make test   the whole test suite
# make bench  speeds, as ratios measured in one run    make check  linters, formatter and types
# make pictures  the screens in the README, drawn anew from the shipped runs
# make setup  the virtual environment that all the others make when they need it

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test bench check pictures setup clean
.DEFAULT_GOAL := run

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@echo "installing into $(VENV), about 1.2 GB: over a network some minutes" >&2
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,grade]'
	touch $(READY)

run: $(READY)
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/rlhf-tui; else $(BIN)/rlhf-tui runs; fi

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

bench: $(READY)
	$(BIN)/python tests/bench/bench_lab.py --out bench.json
	$(BIN)/python tests/bench/bench_tui.py --busy --out bench_tui.json
	$(BIN)/python tests/bench/bench_logs.py --out bench_logs.json
	$(BIN)/python tests/bench/bench_sessions.py --out bench_sessions.json

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

pictures: $(READY)
	$(BIN)/python tests/pictures.py

clean:
	rm -rf $(VENV)
