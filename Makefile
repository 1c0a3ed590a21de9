# make            build the command
# make figures    every figure at PRESET (smoke, quick, paper), gallery in OUT/index.html
# make test       vet and the tests
# make lint       the linter, which also enforces the import rules
# make fuzz       every fuzz target for FUZZTIME
# make bench      the benchmarks, BENCH selects

GO       ?= go
PRESET   ?= quick
OUT      ?= out
FUZZTIME ?= 20s
BENCH    ?= .

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unreleased)
LINTER   := 2.15.0

export CGO_ENABLED = 0

.PHONY: build figures test lint fmt fuzz bench generate clean

build:
	$(GO) build -ldflags "-X main.version=$(VERSION)" -o bin/coupling ./lab/cmd/coupling

figures: build
	bin/coupling fig all --preset $(PRESET) --out $(OUT)

test:
	$(GO) vet ./...
	$(GO) test ./...

bin/golangci-lint-$(LINTER):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINTER)
	mv bin/golangci-lint $@

lint: bin/golangci-lint-$(LINTER)
	$< run ./...

fmt: bin/golangci-lint-$(LINTER)
	$< fmt ./...

# Go fuzzes one target at a time.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' ./...

generate:
	$(GO) generate ./...

clean:
	rm -rf bin out
