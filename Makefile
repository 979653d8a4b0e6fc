# Every command of this checkout. `make demo` and `make test` prepare their own environment, outside the tree
# (tools/env.py), and install no system package; only `make deps` does, or APT=1 in front of a test.

SHELL := bash
RUN := tools/run
# A stuck tool is ended at its limit (seconds, far above what it takes); each test has its own in pyproject.toml.
LIMIT := timeout --foreground --kill-after=10
PYTEST := $(RUN) dev -m pytest
# $(call tested,SECONDS,WORDS) runs pytest. Tests run real clocks, daemons and machines: what a busy host let down gets
# one second try in a new process, so with fixtures of its own, and says so. Where none is named as failed, there is none.
AGAIN := --last-failed --last-failed-no-failures none
tested = $(LIMIT) $(1) $(PYTEST) $(2) || { echo "a second try of what failed"; $(LIMIT) 900 $(PYTEST) $(AGAIN) $(2); }

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test check lint prepared format schemas deps env install uninstall clean clean-env

help:  ## this list
	@printf 'make TARGET, where TARGET is\n'
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/\1@\2/p' $(MAKEFILE_LIST) | while IFS=@ read -r name text; do printf '  %-10s %s\n' "$$name" "$$text"; done
	@printf 'Settings: PYTHON=FILE  TORCH_INDEX=ADDRESS  TORCH=yes  APT=1 (test, check: make deps first)\n'

demo:  ## the whole main job on two pretend nodes of this machine; ARGS="--json" and the like
	@$(RUN) torch -m fabricdoc demo $(ARGS)

test: check  ## everything: check, the long unit tests, all lab tests, the RoCE lab (two virtual machines)
	@$(call tested,900,-n 2 -m long tests/unit)
	@$(call tested,2700,-m lab)
	@$(call tested,1800,-m roce tests/roce -rs --durations=0 --durations-min=1)

check: $(if $(filter 1,$(APT)),deps) lint  ## at most three minutes: lint, unit tests, one lab launch
	@$(call tested,900,-n 2 -m "unit and not long" tests/unit)
	@$(call tested,300,-m lab tests/lab/test_smoke.py)

# Apart from the limited commands: a first run takes as long as its downloads.
prepared:
	@$(RUN) dev >/dev/null

lint: prepared  ## ruff (rules and layout) and mypy
	@$(LIMIT) 120 $(RUN) dev -m ruff check .
	@$(LIMIT) 120 $(RUN) dev -m ruff format --check .
	@$(LIMIT) 300 $(RUN) dev -m mypy fabricdoc tools

format:  ## lay the code out, and fix what ruff can fix
	@$(RUN) dev -m ruff check --fix .
	@$(RUN) dev -m ruff format .

schemas:  ## write docs/schemas/ and docs/findings.md again from the models and the list of findings
	@$(RUN) run tools/schemas.py
	@$(RUN) run tools/findings.py

deps:  ## system packages the tests use (apt; root or sudo), only those missing
	@tools/deps.sh

env:  ## the environment of demo and test, without running anything; prints its python
	@$(RUN) dev

install:  ## fabricdoc as a command of yours: ~/.local/bin/fabricdoc, without torch
	@$(RUN) --install

uninstall:  ## take that command away again
	@$(RUN) --uninstall

clean:  ## what builds and tests left in the tree
	@find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis fabricdoc-demo

clean-env:  ## every environment this and other checkouts made in the cache
	@$(RUN) --remove
