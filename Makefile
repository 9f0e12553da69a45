# Thin front for CMake: each target sets up what it needs, then builds or runs it. `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build
# test-gpu, stress-gpu: a folder with programs that were built before, maybe on another machine; without it they are built here.
GPU_BUILD ?=

.DEFAULT_GOAL := build
.PHONY: build demo test test-long test-gpu stress stress-gpu mutants bench install lint format clean help

build: ## build the libraries and the command (build/copse)
	@scripts/setup build
	@scripts/build $(BUILD)

demo: build ## set up, build and show what copse does
	@$(BUILD)/copse demo

test: ## everything that must pass: units, model, sanitizers, fuzzing, command, install, lint (minutes)
	@scripts/setup test
	@scripts/test

test-long: ## the same with long fuzzing (FUZZ_SECONDS, 600 each) and the long differential run
	@scripts/setup test
	@scripts/test --long

test-gpu: ## on a machine with a CUDA card: its tests, the differential run on it, compute-sanitizer (minutes)
	@scripts/test-gpu $(GPU_BUILD)

stress: ## contention and readers beside a writer on the emulated device (STRESS_SECONDS, 3600; half of it with TSan)
	@scripts/setup test
	@scripts/stress

stress-gpu: ## the same on a CUDA card (STRESS_SECONDS, 600; GPU_BUILD as for test-gpu)
	@scripts/stress --gpu $(GPU_BUILD)

mutants: ## plant faults in a copy of the sources, one by one, and show which of them the tests catch (an hour)
	@scripts/setup test
	@scripts/mutants

# An option on the line makes scripts/build configure again, which finds peers installed a moment ago.
bench: ## run the standard benchmarks and draw the plots (bench/results/)
	@scripts/setup bench
	@scripts/build $(BUILD) -DCMAKE_BUILD_TYPE=Release
	@bench/standard $(BUILD)/copse

install: build ## install under PREFIX (default /usr/local); DESTDIR is honoured
	@scripts/build $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)

lint: ## check format, cppcheck, clang-tidy
	@scripts/setup lint
	@scripts/lint

format: ## rewrite the sources in the project's format
	@scripts/setup lint
	@scripts/lint --fix

clean: ## remove every build folder
	rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
