# Needs POSIX make, a shell and Go; everything else is pinned in tools/go.mod. Plain `make` lists
# the targets.
.POSIX:
.PHONY: help build image test test-short test-race test-brokers soak sim sim-leases sim-spend sim-pacing sim-crashes sim-agents sim-model fuzz bench bench-once bench-peers bench-queues bench-mirrors lint fmt vet actionlint vuln generate generate-check verify ci clean docker-note

# Every test run has this tag: it makes the mutexes of the Kafka client visible to testing/synctest.
# Without it, packages whose tests need it fail in TestBuildTag.
TAGS     = -tags synctests
# Everything is built as the program of the image is: without C, and without paths of this machine.
# One set of flags also means that each package is compiled once. Only the race detector needs C.
GO       = CGO_ENABLED=$${CGO_ENABLED:-0} GOFLAGS="$$GOFLAGS -trimpath" go
TOOL     = $(GO) tool -modfile=tools/go.mod
# Without symbols and DWARF: stack traces and profiles do not need them.
LDFLAGS  = -s -w
# Packages that make test runs at the same time: a processor's each, but at least three, because the
# first ones wait for brokers and processes most of the time.
PACKAGES = $$(n=$$(getconf _NPROCESSORS_ONLN) && test "$$n" -gt 3 && echo "$$n" || echo 3)
# The program that builds the image.
DOCKER   = docker
# Packages, time limit of each, and further arguments of go test.
PKGS     = ./test/integration ./cmd/weir ./compose ./test/leaseloop ./dynamotest ./...
TIMEOUT  = 22m
ARGS     =
# Packages with goroutines of their own, and crash runs under the race detector, which is about ten
# times slower.
RACE     = ./agent/... ./api/... ./bench/... ./bridge/... ./cmd/weir/... ./dynamotest/... ./executor/... ./internal/... ./jobqueue/... ./lease/... ./processors/... ./test/...
RACERUNS = 8
# Tests that inject a bug, tests that have one goroutine or take an hour under the race detector,
# and slow ones whose goroutines other tests run there.
NORACE   = Notices|Mutation|Mutant|Catches|Evacuate|LoopHours|Goals|Seeds|Shrink|ValidManifest|ClockOfProcessJumps|SkipRefused|DamagedStore|DedupSurvives|BalancerSurvives|Breaches|HomeLost|FourDatacentres|TestDrift|TestStyle|TestWords|TestInvariants
# Runs of the crash and abort model, and seeds of the model of the lease loop.
RUNS     = 1000
SEEDS    = 5000
SPENDSEEDS = 100
PACINGSEEDS = 20
# Histories of agents that are checked for linearizability.
HISTORIES = 40
FUZZTIME = 10s
# What bench, bench-peers and bench-queues measure on.
BROKERS  = 127.0.0.1:9092
EVENTS   = 20000000
ROUNDS   = 3
# The database of River in bench-queues. Its jobs are deleted.
DATABASE = postgres://postgres@127.0.0.1:5432/weir_bench
# The two Kafkas of bench-mirrors (bench/peers/mirrors/brokers.yaml starts such), and its log.
SOURCE   = 127.0.0.1:9092
TARGET   = 127.0.0.1:9192
COPIES   = 10000000
# The container image, where it is put together, and who it trusts: a file of certificates of this
# machine.
IMAGE    = weir:dev
IMAGEDIR = dist/image
ROOTS    = /etc/ssl/certs/ca-certificates.crt
# What test-brokers runs.
BROKERTESTS = Datacentres|ThreeBrokers|BrokerAway|ChangedCredentials|Billed
# The tests of brokers that make soak runs with large loads.
SOAKTESTS = Jobs|PacingWriters|PacingMillion|Kills|KillWithinRebalance|MemoryBudget|DiskFull|RebalanceStorm|LeaseLoop|$(BROKERTESTS)
# A file to which each test run appends the line "passed failed".
TOTALS   =
# go test, with failures and the reasons of skips listed at the end, then the ten slowest tests and
# the flaky ones (.ci/after-tests). It is followed by the packages, and "--" before further
# arguments. A failed test runs once more by itself after all others, if at most ten failed
# (RERUN=0: never). What passes then is listed as flaky and counts as passed. A data race always
# fails the run.
REPORT   = dist/tests/$@.json
RERUN    = 1
GOTEST   = TOTALS="$(TOTALS)" $(TOOL) gotestsum --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg \
	--ignore-non-json-output-lines --jsonfile $(REPORT) --post-run-command .ci/after-tests \
	--rerun-fails=$(RERUN) --rerun-fails-max-failures=10 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race --packages

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

build: ## compile bin/weir (LDFLAGS= keeps the symbols for a debugger)
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/weir ./cmd/weir

image: ## build the container image IMAGE for compose/ (IMAGE=weir:dev DOCKER=podman)
	rm -rf $(IMAGEDIR)/data $(IMAGEDIR)/tls && mkdir -p $(IMAGEDIR)/data $(IMAGEDIR)/tls
	CGO_ENABLED=0 GOOS=linux $(GO) build -ldflags '$(LDFLAGS)' -o $(IMAGEDIR)/weir ./cmd/weir
	cp $(ROOTS) $(IMAGEDIR)/ca-certificates.crt
	$(DOCKER) build -q -t $(IMAGE) -f compose/Dockerfile $(IMAGEDIR)

# Without go vet, which is a part of make verify: it takes 40 s of CPU in a fresh clone.
test: docker-note ## run every test, those on containers too where a Docker engine answers
	@$(GOTEST) "$(PKGS)" -- $(TAGS) -count=1 -vet=off -p $(PACKAGES) -timeout $(TIMEOUT) $(ARGS)

test-short: ## run the tests that take seconds
	@$(GOTEST) "$(PKGS)" -- $(TAGS) -count=1 -short -timeout 5m $(ARGS)

test-race: ## run the short tests of concurrent packages under the race detector
	@export CGO_ENABLED=1 WEIR_TEST_CRASH_RUNS=$(RACERUNS); $(GOTEST) "$(RACE)" -- $(TAGS) -count=1 -short -race -skip '$(NORACE)' -timeout $(TIMEOUT) $(ARGS)

test-brokers: docker-note ## run the tests of brokers that take minutes
	@export WEIR_TEST_BROKERS=1; $(GOTEST) ./test/integration -- $(TAGS) -count=1 -timeout $(TIMEOUT) -run '^Test($(BROKERTESTS))$$' $(ARGS)

# What make test runs with a smaller load, with the whole one. For changes of the runtime.
soak: docker-note ## run tests on brokers with large loads, then all simulators (an hour)
	@export WEIR_TEST_SOAK=1 WEIR_TEST_LEASE_LOOP=2m; $(GOTEST) ./test/integration -- $(TAGS) -count=1 -timeout 60m -run '^Test($(SOAKTESTS))$$' $(ARGS)
	@export WEIR_TEST_SOAK=1; $(GOTEST) ./compose -- $(TAGS) -count=1 -timeout $(TIMEOUT) -run '^TestDatacentres$$' $(ARGS)
	@export WEIR_TEST_LOOP_HOURS=0.083; $(GOTEST) ./test/leaseloop -- $(TAGS) -count=1 -timeout $(TIMEOUT) -run '^TestLoopHours$$' $(ARGS)
	@$(MAKE) sim

sim: sim-leases sim-spend sim-pacing sim-crashes sim-agents sim-model ## run all simulators (make sim SEEDS=20000 RUNS=5000)

sim-leases: ## run SEEDS seeds of the simulator of the lease loop
	@WEIR_TEST_SIM_SEEDS=$(SEEDS) $(GOTEST) ./test/sim -- $(TAGS) -count=1 -timeout 60m -run '^Test(Seeds|HomeLost)$$' $(ARGS)

sim-spend: ## run SPENDSEEDS seeds of the simulator of spend in several datacentres
	@WEIR_TEST_SIM_SEEDS=$(SPENDSEEDS) $(GOTEST) ./test/spendsim -- $(TAGS) -count=1 -timeout 180m -run '^TestSeeds$$' $(ARGS)

sim-pacing: ## run PACINGSEEDS days of the pacing service with its ad servers
	@WEIR_TEST_SIM_SEEDS=$(PACINGSEEDS) $(GOTEST) ./test/pacingsim -- $(TAGS) -count=1 -timeout 60m -run '^TestSeeds$$' $(ARGS)

sim-crashes: ## crash and abort the runtime RUNS times in simulated time
	@WEIR_TEST_CRASH_RUNS=$(RUNS) $(GOTEST) ./processors/... -- $(TAGS) -count=1 -timeout 60m -run '^Test(Crashes|Troubles)$$' $(ARGS)

sim-agents: ## check HISTORIES histories of agents for linearizability
	@WEIR_TEST_LINEAR_RUNS=$(HISTORIES) $(GOTEST) ./agent -- $(TAGS) -count=1 -timeout 60m -run '^TestLinear(izable|CatchesMutants)$$' $(ARGS)

sim-model: ## explore the model of leases whole, and without its reductions for all mutants
	@WEIR_TEST_MODEL_FULL=1 $(GOTEST) ./lease/model -- $(TAGS) -count=1 -timeout 60m -run '^Test(Protocol|ReductionsChangeNothing)$$' $(ARGS)

# One program for the targets of a package: go test links it for each of them.
fuzz: ## fuzz every fuzz target for FUZZTIME (make fuzz FUZZTIME=2m)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cache=$$(go env GOCACHE)/fuzz/$$(go list -m) && \
	find . -name '*_test.go' -exec grep -l '^func Fuzz' {} + | sed 's|/[^/]*$$||' | sort -u | while read -r package; do \
		$(GO) test -c -fuzz . -o "$$dir/fuzz" "$$package" || exit 1; \
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$package"/*_test.go | while read -r target; do \
			echo "$$target in $$package"; \
			(cd "$$package" && "$$dir/fuzz" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzcachedir "$$cache/$${package#./}") </dev/null || exit 1; \
		done || exit 1; \
	done

bench: ## measure on the broker BROKERS, and print one table (an hour; BROKERS=host:port EVENTS=20000000 ROUNDS=3)
	$(GO) run ./cmd/weir bench all --brokers $(BROKERS) --events $(EVENTS) --rounds $(ROUNDS) $(ARGS)
	$(GO) test -run '^$$' -bench 'Timers' ./processors

bench-once: ## run every benchmark once, to see that it still runs
	$(GO) test $(TAGS) -short -run '^$$' -bench . -benchtime 1x -timeout $(TIMEOUT) $(ARGS) $(PKGS)

bench-peers: ## measure weir beside Kafka Streams and goka (BROKERS=host:port EVENTS=20000000 ROUNDS=3 ARGS="-o json")
	$(GO) run ./bench/peers -brokers $(BROKERS) -events $(EVENTS) -rounds $(ROUNDS) $(ARGS)

bench-queues: ## measure weir's job queues beside River on PostgreSQL (BROKERS=host:port DATABASE=postgres://...)
	$(GO) run ./bench/peers/jobs -brokers $(BROKERS) -database $(DATABASE) -rounds $(ROUNDS) $(ARGS)

bench-mirrors: ## measure weir's mirror beside MirrorMaker 2 (SOURCE=host:port TARGET=host:port COPIES=10000000 ROUNDS=3 ARGS="-o json")
	$(GO) run ./bench/peers/mirrors -source $(SOURCE) -target $(TARGET) -events $(COPIES) -rounds $(ROUNDS) $(ARGS)

lint: ## check the source with golangci-lint
	$(TOOL) golangci-lint run

fmt: ## format the source with gofumpt
	$(TOOL) golangci-lint fmt

vet: ## check the source with go vet
	$(GO) vet $(TAGS) ./...

# Not in tools/go.mod: it needs another version of a YAML library than the tools there.
actionlint: ## check the workflows of GitHub Actions
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

vuln: ## look for known vulnerabilities, if the database answers
	@if out=$$($(TOOL) govulncheck ./... 2>&1); then echo "$$out"; \
	elif echo "$$out" | grep -q 'fetching vulnerabilities'; then echo "vuln: the database does not answer: NOT checked"; \
	else echo "$$out"; exit 1; fi

generate: ## generate the code of the protobuf schemas
	$(TOOL) buf lint
	$(TOOL) buf generate

# By checksums and not by git, so that it also works in the middle of a change.
SUMS = find . \( -name '*.pb.go' -o -name '*.connect.go' \) -exec cksum {} + | sort

generate-check: ## check that the generated code is what the schemas give
	@before=$$($(SUMS)); $(MAKE) generate || exit 1; after=$$($(SUMS)); \
	if [ "$$before" != "$$after" ]; then echo "generated code was not up to date; now it is: commit it"; exit 1; fi

verify: vet lint actionlint generate-check vuln ## all checks that run no test

ci: verify test test-race test-brokers sim fuzz bench-once ## all that continuous integration runs

clean: ## remove what was built
	rm -rf bin dist

docker-note:
	@if $(DOCKER) info >/dev/null 2>&1; then echo "docker: an engine answers: tests on containers run"; \
	else echo "docker: NO ENGINE ANSWERS: tests on containers are skipped, each is listed below"; fi
