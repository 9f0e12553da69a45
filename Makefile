# Thin front for CMake: each target sets up what it needs, then builds or runs it. `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build
# test-gpu, stress-gpu: a folder with programs that were built before, maybe on another machine; without it they are built here.
GPU_BUILD ?=

.DEFAULT_GOAL := build
.PHONY: build demo install dist test test-full test-long test-gpu stress stress-gpu mutants bench figures lint format clean help

##@ Build and try
build: ## build the libraries and the command, build/copse (kernels for the card of this machine)
	@scripts/setup build
	@scripts/build $(BUILD) $(WHOLE)

# The command alone, and in a new folder without what a first look can do without: the peers of the benchmark, kernels for a card
# that is not there, and what -O3 gains. `make build` adds them.
FIRST_LOOK = -DCOPSE_PEERS=OFF -DCOPSE_CUDA=CARD -DCOPSE_HOT=-O2
WHOLE = $(shell grep -qs '^COPSE_CUDA:STRING=CARD' $(BUILD)/CMakeCache.txt && echo -DCOPSE_PEERS=ON -DCOPSE_CUDA=AUTO -DCOPSE_HOT=-O3)
demo: ## set up, build the command and show what copse does (a minute or so)
	@scripts/setup build
	@scripts/build $(BUILD) --targets copse_command $(if $(wildcard $(BUILD)/CMakeCache.txt),,$(FIRST_LOOK))
	@$(BUILD)/copse demo

install: build ## install below PREFIX (/usr/local), stripped; DESTDIR is honoured
	@scripts/build $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)

dist: ## a release for all supported cards, as a .tar.gz in build/dist
	@scripts/setup build
	@scripts/dist $(BUILD)/dist

##@ Test
test: ## what must pass before a commit: 10 minutes on 2 cores, set-up and build included
	@scripts/setup test
	@scripts/test

test-full: ## the rest of what must pass: sanitizers, stress, fuzzing, all cards, all of lint (45 minutes)
	@scripts/setup test
	@scripts/test --full

test-long: ## both, with long fuzzing (FUZZ_SECONDS, 600 each), stress and differential runs: hours
	@scripts/setup test
	@scripts/test --long

test-gpu: ## on a machine with a CUDA card: its tests, the differential run on it, compute-sanitizer (minutes)
	@scripts/test-gpu $(GPU_BUILD)

stress: ## contention and concurrent readers, emulated (STRESS_SECONDS, 3600; half of it with ThreadSanitizer)
	@scripts/setup test
	@scripts/stress

stress-gpu: ## the same on a CUDA card (STRESS_SECONDS, 600; GPU_BUILD as for test-gpu)
	@scripts/stress --gpu $(GPU_BUILD)

mutants: ## plant faults in a copy of the sources, one by one, and show which of them the tests catch (an hour)
	@scripts/setup test
	@scripts/mutants

##@ Work on the sources
# An option on the line makes scripts/build configure again, which finds peers installed a moment ago.
bench: ## run the standard benchmarks and draw the plots (bench/results/)
	@scripts/setup bench
	@scripts/build $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCOPSE_PEERS=ON $(WHOLE)
	@bench/standard $(BUILD)/copse

figures: ## measure and draw the figures of the hybrid paper (build/figures/figures.html); QUICK=1: small ones
	@scripts/setup bench
	@scripts/build $(BUILD) -DCMAKE_BUILD_TYPE=Release $(WHOLE)
	@bench/figures --command $(BUILD)/copse --results $(BUILD)/figures $(if $(QUICK),--quick)

lint: ## check format, direction of includes, cppcheck, clang-tidy
	@scripts/setup lint
	@scripts/lint

format: ## rewrite the sources in the project's format
	@scripts/setup lint
	@scripts/lint --fix

clean: ## remove every build folder
	rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' ' \
	    /^##@ / { printf "%s%s\n", heading++ ? "\n" : "", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 } \
	    END { print "\nOne part of the tests: scripts/test PART (see CONTRIBUTING.md). Another build folder: make BUILD=FOLDER ..." }' \
	    $(firstword $(MAKEFILE_LIST))
