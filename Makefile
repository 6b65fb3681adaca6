# The targets of this project. `make` alone lists them.
SHELL := /bin/bash
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
MISSPELL := github.com/golangci/misspell/cmd/misspell@v0.8.0
FUZZTIME ?= 10s
FUZZSKIP ?=
BENCH ?= .
BENCHTIME ?= 0.5s
PKGS ?= ./...
ATONCE ?= 4

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## start the sandbox on 127.0.0.1:8080 with a small seeded organization
	go run ./cmd/scimwright sandbox

# SQLite is C code: the binary is position-independent, and the dynamic linker makes its relocated sections read-only at start (full RELRO).
# Packed relocations take 90 KB of the file instead of 6 MB, all of which are in memory after the start. They require ld 2.38 to build and
# glibc 2.36 to run; on a machine with earlier ones the relocations are not packed.
# The conformance suite is pure Go and static; without an external linker a position-independent binary would need ld.so.
PACKED = $(shell ld --help 2>/dev/null | grep -q pack-relative-relocs && getconf GNU_LIBC_VERSION 2>/dev/null | \
  awk '{split($$2, v, "."); if (v[1] > 2 || v[2] >= 36) print ",-z,pack-relative-relocs"}')
HARDENED = -trimpath -buildmode=pie -ldflags='-linkmode=external -extldflags=-Wl,-z,relro,-z,now$(PACKED)'

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
	SCIMWRIGHT_REQUIRE_POSTGRES=1 go test -p $(ATONCE) -timeout 20m ./... # tests with PostgreSQL mostly wait for it

# The costly tests that have found most bugs: a check without effect, data lost in a crash, an outdated generated page.
COSTLY_SUITE := ^(TestSuite_KillMatrix|TestProfiles_EveryStepCanFail|TestProfiles_BreakOnListedQuirks)$$
COSTLY_ENGINE := ^(TestEngine_KilledAtEveryPoint|TestEngine_Converges)$$

SOAKTIME ?= 40m

.PHONY: soak
soak: ## show that the size of the daemon's databases is constant under a steady load, for SOAKTIME (40m)
	SCIMWRIGHT_TEST_ALL=1 go test ./cmd/internal/daemon -run TestSoak -v -timeout 3h -daemon.soak $(SOAKTIME)

.PHONY: test-costly costly-suite costly-engine
test-costly: ## run the costly tests that have found most bugs
	@$(MAKE) --no-print-directory -j2 -O costly-suite costly-engine
costly-suite:
	SCIMWRIGHT_TEST_ALL=1 go test -timeout 20m -run '$(COSTLY_SUITE)' ./cmd/internal/truth
costly-engine:
	SCIMWRIGHT_TEST_ALL=1 go test -timeout 20m -run '$(COSTLY_ENGINE)' ./engine/provision

.PHONY: test-all
test-all: ## run all tests, on both databases and with third-party software; a skip is a failure
	@SCIMWRIGHT_TEST_ALL=1 go test -json -timeout 120m ./... | go run ./internal/alltest/strict

.PHONY: race
race: ## run all tests with the race detector
	go test -race -timeout 20m $(PKGS)

# Packages with concurrent code; packages that only compute are omitted. Of the management API and the sandbox, only the tests with concurrent
# requests run, because all other tests send one request after the other. `make race` omits nothing.
RACING := ./engine/internal/connect ./engine/internal/lane ./engine/internal/membership ./engine/internal/probe ./engine/desired ./engine/jobs ./engine/jobs/riverjobs ./engine/sqlstore ./scimserver ./scimserver/memstore ./scimserver/observe \
	./scimserver/sqlstore ./scimserver/tenants ./conformance ./conformance/observed ./internal/docstore ./internal/sqldb ./internal/sqldb/rowcache ./scim/wirelog \
	./mgmtapi/internal/hooks/calls ./mgmtapi/internal/tokens
# The killed processes are separate programs, PgBouncer and partitions change no Go code, and one goroutine changes the positions of documents.
RACELESS := Killed|Pooled|Pruned|Store/sqlite/positions|Store/postgres/positions|Store_Names/positions
RACING_TESTS := Parallel|Concurrent|Outlives|BusyLane|Scheduled|StoppedServer|WalkGroupPush|CachedCaller|Reset_During|KeysOf|ValidatedInTransaction|AsyncTransition_Survives
RACING_TOGETHER := ./mgmtapi/internal/apps/apps ./mgmtapi/internal/signin/authn ./mgmtapi/internal/signin/factors ./mgmtapi/internal/slicetest ./mgmtapi/internal/directory/users ./cmd/internal/sandbox

.PHONY: race-short race-packages race-together
race-short: ## run the tests of concurrent code with the race detector
	go build -race ./... # once: two concurrent commands would each compile everything
	@$(MAKE) --no-print-directory -j2 -O race-packages race-together
race-packages:
	go test -race -timeout 20m -skip '$(RACELESS)' $(RACING)
	go test -race -timeout 20m -skip 'Killed|Failover|SharesLanes' ./engine/provision -rapid.checks=25 # shares of time are not those of a run without the detector; a few runs of a property are enough to detect a race
race-together:
	go test -race -timeout 20m -run '$(RACING_TESTS)' $(RACING_TOGETHER)

.PHONY: lint
lint: ## vet, formatting and golangci-lint
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go run $(GOLANGCI) run ./... # govet is among the linters, and so is misspell for Go files
	@$(MAKE) --no-print-directory spelling

# The ignored words are those of .golangci.yml. Texts of licenses have the spelling of their authors.
.PHONY: spelling
spelling: ## check the spelling of the Markdown files
	go run $(MISSPELL) -locale US -error -i cancelled,colour,favourite,harbour,licence,organisation,synchronised \
	  $$(git ls-files '*.md' | grep -v '^THIRD_PARTY.md$$')

FUZZED = $(sort $(patsubst %/,%,$(dir $(shell grep -rlE '^func Fuzz' --include='*_test.go' .))))

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME, two at a time, except those of the packages in FUZZSKIP
	@for pkg in $(filter-out $(FUZZSKIP),$(FUZZED)); do grep -hoE '^func Fuzz\w+' $$pkg/*_test.go | cut -c6- | sed "s|^|$$pkg |"; done | \
	  xargs -P 2 -L 1 ./.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## run the benchmarks (BENCH selects them, BENCHTIME is the time of each)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) $(PKGS)

.PHONY: golden
golden: ## rewrite the golden files from the present code; read the diff before you commit
	@set -e; for pkg in $$(go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}} ' ./... | \
	  grep -E '/(goldentest|apitest) ' | cut -d' ' -f1); do go test $$pkg -update; done
	go test ./mgmtapi -update # docs/generated/operations.md is derived from the results of the packages below it

# goreleaser is built from its module, and is not a requirement of this one. GORELEASER may be an installed command.
GORELEASER ?= go run github.com/goreleaser/goreleaser/v2@v2.15.1
RELEASE_FLAGS ?=

# The archives of a release contain these files. Without cgo, scimwright contains no database, but has the same commands.
MANUALS := bin/manuals
.PHONY: manuals
manuals: ## write the manual pages and the completion scripts of both programs into bin/manuals
	@rm -rf $(MANUALS) && mkdir -p $(MANUALS)
	@set -e; for program in scimwright scim-conformance; do \
	  CGO_ENABLED=0 go build -trimpath -buildvcs=true -o $(MANUALS)/program ./cmd/$$program; \
	  mkdir -p $(MANUALS)/$$program/man $(MANUALS)/$$program/completions; \
	  $(MANUALS)/program man >$(MANUALS)/$$program/man/$$program.1; \
	  $(MANUALS)/program completion bash >$(MANUALS)/$$program/completions/$$program.bash; \
	  $(MANUALS)/program completion fish >$(MANUALS)/$$program/completions/$$program.fish; \
	  $(MANUALS)/program completion zsh >$(MANUALS)/$$program/completions/_$$program; \
	done
	@rm $(MANUALS)/program

.PHONY: release-snapshot release-binaries release
release-snapshot: ## build the archives, checksums and SBOMs of a release into dist/, without publishing (ZIG: command of Zig)
	$(GORELEASER) release --snapshot --clean $(RELEASE_FLAGS)
release-binaries: ## build only the binaries of a release into dist/ (RELEASE_FLAGS="--id=scim-conformance" selects)
	$(GORELEASER) build --snapshot --clean $(RELEASE_FLAGS)
release:
	$(GORELEASER) release --clean $(RELEASE_FLAGS)

.PHONY: third-party
third-party: ## rewrite THIRD_PARTY.md: the modules that the programs contain, and their licenses
	go test -count=1 ./internal/thirdparty -run TestPage_Current -update

.PHONY: pictures
pictures: ## take the pictures of README.md and of docs/reference/console.md with Chromium
	./.ci/picture-report
	SCIMWRIGHT_REQUIRE_CHROMIUM=1 SCIMWRIGHT_SCREENSHOTS=$(CURDIR)/docs/images go test -count=1 \
	  -run '^TestBrowser_(Newcomer|NewcomerConnects|ApprovesRemovals|ManagesUsers|SeedOrganization)$$/^sqlite$$' ./cmd/internal/sandbox

.PHONY: interop
interop: ## start every server of docs/interop/servers, test it, and rewrite docs/interop/matrix.md (SCIMWRIGHT_TEST_INTEROP: directory of the installations)
	SCIMWRIGHT_TEST_INTEROP=$${SCIMWRIGHT_TEST_INTEROP:-1} go test -count=1 -timeout 60m -run '^TestMatrix_ThirdPartyServers$$' ./cmd/internal/cli/conform -update

.PHONY: interop-daemon
interop-daemon: ## provision seven servers of docs/interop/servers through serve engine, by the examples in JavaScript (SCIMWRIGHT_TEST_INTEROP: as interop)
	SCIMWRIGHT_TEST_INTEROP=$${SCIMWRIGHT_TEST_INTEROP:-1} go test -count=1 -timeout 30m -run '^TestNodeExamples_ForeignTargets$$' -v ./cmd/internal/daemon

.PHONY: causes
causes: ## rewrite conformance/causes/signatures.txt: the checks that report findings for each mutant and quirk (10 to 20 minutes)
	SCIMWRIGHT_TEST_ALL=1 go test -timeout 90m ./cmd/internal/truth -run '^TestSignatures_MatchFaults$$' -update

.PHONY: examples
examples: ## vet and test the modules in examples/ with the present packages (.ci/examples also runs their programs)
	@set -e; for module in examples/*/go.mod; do (cd $${module%/go.mod} && go vet ./... && go test ./...); done

.PHONY: pages
pages: ## run the commands of README.md and docs/tutorials, on the ports that they name
	SCIMWRIGHT_TEST_PAGES=1 go test -count=1 -timeout 30m -run TestPages_Run ./internal/docpages

.PHONY: helm
helm: ## check the Helm chart in deploy/helm (helm is built from its module)
	./.ci/helm

.PHONY: openapi
openapi: ## validate docs/api/service.json with two validators, and run a client that is generated from it (npm and PyPI)
	./.ci/openapi

.PHONY: check
check: lint test examples ## run the checks that a change must pass before a commit
