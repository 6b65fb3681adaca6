# The targets of this project. `make` alone lists them.
SHELL := /bin/bash
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 10s
FUZZSKIP ?=
BENCH ?= .
BENCHTIME ?= 0.5s
PKGS ?= ./...
ATONCE ?= 4

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## start the sandbox on 127.0.0.1:8080 with a small seeded organisation
	go run ./cmd/scimwright sandbox

# SQLite is C: its binary is position-independent, and the linker makes what it has relocated read-only before it starts (full RELRO).
# The conformance suite is pure Go and static; without an external linker a position-independent binary would need ld.so.
HARDENED := -trimpath -buildmode=pie -ldflags='-linkmode=external -extldflags=-Wl,-z,relro,-z,now'

.PHONY: build
build: ## build both commands into bin/ and check that the first is hardened
	go build $(HARDENED) -o bin/scimwright ./cmd/scimwright
	@$(MAKE) --no-print-directory hardened
	CGO_ENABLED=0 go build -buildmode=exe -trimpath -ldflags='-s -w' -o bin/scim-conformance ./cmd/scim-conformance

.PHONY: hardened
hardened: BINARY ?= bin/scimwright
hardened: ## check that BINARY (bin/scimwright) is position-independent and has full RELRO (ELF only)
	@if readelf -h $(BINARY) >/dev/null 2>&1; then \
	  readelf -h $(BINARY) | grep -q 'Type: *DYN' || { echo "$(BINARY) is not position-independent"; exit 1; }; \
	  readelf -lW $(BINARY) | grep -q GNU_RELRO && readelf -d $(BINARY) | grep -q 'BIND_NOW\|FLAGS_1.*NOW' || \
	    { echo "$(BINARY) has no full RELRO"; exit 1; }; \
	fi

.PHONY: test
test: ## run the quick tests, on SQLite
	go test ./...

.PHONY: test-postgres
test-postgres: ## run the quick tests on SQLite and PostgreSQL
	SCIMWRIGHT_REQUIRE_POSTGRES=1 go test -p $(ATONCE) -timeout 20m ./... # tests with PostgreSQL mostly wait

# The costly tests that have found the most: a check that notices nothing, a crash that loses something, a generated page that is out of date.
COSTLY_SUITE := ^(TestSuite_KillMatrix|TestProfiles_EveryStepCanFail|TestProfiles_BreakOnListedQuirks)$$
COSTLY_ENGINE := ^(TestEngine_KilledAtEveryPoint|TestEngine_Converges)$$

.PHONY: test-costly costly-suite costly-engine
test-costly: ## run those of the costly tests that have found the most
	@$(MAKE) --no-print-directory -j2 -O costly-suite costly-engine
costly-suite:
	SCIMWRIGHT_TEST_ALL=1 go test -timeout 20m -run '$(COSTLY_SUITE)' ./cmd/internal/truth
costly-engine:
	SCIMWRIGHT_TEST_ALL=1 go test -timeout 20m -run '$(COSTLY_ENGINE)' ./engine/provision

.PHONY: test-all
test-all: ## run all tests, on both databases and with software of others; a skip is a failure; as long as it takes
	@SCIMWRIGHT_TEST_ALL=1 go test -json -timeout 120m ./... | go run ./internal/alltest/strict

.PHONY: race
race: ## run all tests with the race detector
	go test -race -timeout 20m $(PKGS)

# What runs in several goroutines. Left out are packages that only compute. Of the management API and the whole sandbox it is the tests in
# which several do something at the same time: the others send one request after the other. `make race` leaves out nothing.
RACING := ./engine/internal/connect ./engine/internal/lane ./engine/internal/probe ./engine/sqlstore ./scimserver ./scimserver/memstore ./scimserver/observe \
	./scimserver/sqlstore ./scimserver/tenants ./conformance ./conformance/observed ./internal/docstore ./internal/sqldb ./scim/wirelog \
	./mgmtapi/hooks ./mgmtapi/issue
RACING_TESTS := Parallel|Concurrent|Outlives|BusyLane|Scheduled|StoppedServer|WalkGroupPush|CachedCaller|Reset_During|KeysOf|ValidatedInTransaction|AsyncTransition_Survives
RACING_TOGETHER := ./mgmtapi/apps ./mgmtapi/authn ./mgmtapi/factors ./mgmtapi/slicetest ./mgmtapi/users ./cmd/internal/sandbox

.PHONY: race-short race-packages race-together
race-short: ## run the tests of what is concurrent with the race detector
	go build -race ./... # once: of two commands at the same time each would compile everything
	@$(MAKE) --no-print-directory -j2 -O race-packages race-together
race-packages:
	go test -race -timeout 20m -skip Killed $(RACING) # who is killed is a process of its own
	go test -race -timeout 20m -skip Killed ./engine/provision -rapid.checks=25 # a race shows in few runs of a property
race-together:
	go test -race -timeout 20m -run '$(RACING_TESTS)' $(RACING_TOGETHER)

.PHONY: lint
lint: ## vet, formatting and golangci-lint
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go run $(GOLANGCI) run ./... # govet is among the linters

FUZZED = $(sort $(patsubst %/,%,$(dir $(shell grep -rlE '^func Fuzz' --include='*_test.go' .))))

.PHONY: fuzz
# When the time is up while an input runs, the go command may say «context deadline exceeded» and fail, although no input failed
# (go.dev/issue/75804). Such an end counts as one; a failing input is always named.
fuzz: ## run every fuzz target for FUZZTIME each, but for those of the packages FUZZSKIP
	@set -e; out=$$(mktemp); trap 'rm -f $$out' EXIT; for pkg in $(filter-out $(FUZZSKIP),$(FUZZED)); do \
	  for target in $$(grep -hoE '^func Fuzz\w+' $$pkg/*_test.go | cut -c6-); do \
	    echo "== $$pkg $$target"; \
	    if go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg >$$out 2>&1; then cat $$out; else cat $$out; \
	      grep -q 'context deadline exceeded' $$out && ! grep -q 'Failing input' $$out; fi; \
	  done; done

.PHONY: bench
bench: ## run the benchmarks (BENCH selects, BENCHTIME bounds each)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) $(PKGS)

.PHONY: golden
golden: ## rewrite the golden files from what the code says now; read the diff before you commit
	@set -e; for pkg in $$(go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}} ' ./... | \
	  grep -E '/(goldentest|apitest) ' | cut -d' ' -f1); do go test $$pkg -update; done
	go test ./mgmtapi -update # docs/generated/operations.md is made of what the packages below it have seen

.PHONY: check
check: lint test ## what a change must pass before it is committed
