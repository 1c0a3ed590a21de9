# Everyday
# make            build the command
# make figures    every figure at PRESET (smoke, quick, full, paper), gallery in OUT/index.html
# make test       vet and the short tests
# make test-long  the tests at length
# make lint       the linter, which also enforces the import rules, and that .ci/size is of this tree
#
# Deeper tests
# make race       the race detector (needs a C compiler)
# make test-cpu   the kernels on every instruction set that this machine has
# make test-ptx   the GPU's kernels, executed by an emulator of PTX, through the whole CUDA path (needs a C++20 compiler)
# make mutate-ptx  MUTATIONS of the GPU's kernels, drawn at random, and which the tests find (100: an hour of one core)
# make fuzz       every fuzz target for FUZZTIME
# make bench      the benchmarks, BENCH selects
#
# Notebooks
# make notebook   the notebooks in Jupyter, with a kernel of this checkout's own; NOTEBOOK names one
# make docs       the notebooks executed at PRESET, as Markdown with pictures in OUT/notebooks
# make pages      the notebooks executed at PRESET, as Markdown that a code host shows, in notebooks/pages
# make test-notebooks  each notebook in the real kernel at the smallest sizes, and two tests in Chromium
#
# GPU
# make gpu-check  devices, layers and solvers on a GPU, and one report (lab/device/gpucheck); gpu-bins only builds it
# make gpu-pack   an archive for a machine with a GPU and without Go: check, rows of PyTorch, figures at the papers' sizes
# make gpu-rehearse  that archive unpacked, run, killed, run again and brought back, on the emulator (needs a C++20 compiler); PARTS adds parts
# make ptx-check  registers, spills and blocks a multiprocessor of every kernel, by NVIDIA's assembler, against testdata/REGISTERS;
#                 and that the embedded machine code is the PTX's
# make ptx        the GPU kernels afresh (needs Debian's clang-19 and ptxas)
#
# Maintaining
# make fmt        format the Go files
# make generate   the generated files: figure programs, notebooks, pages of packages
# make workflows  check .github/workflows by actionlint
# make vuln       known vulnerabilities in what is linked, by govulncheck (needs the network)
# make api        exported names that differ from those of BASE, a commit or tag, by apidiff
# make size       tokens of code, tests, kits and generators by folder, in .ci/size, which make lint compares
# make module     the checkout under another module path, to publish it: MODULE=host/owner/name
# make clean      remove bin and out

GO       ?= go
PRESET   ?= quick
NOTEBOOK ?= 00-tour
OUT      ?= out
FUZZTIME ?= 20s
BENCH    ?= .
BASE     ?= HEAD

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unreleased)
LINTER   := 2.15.0

# Programs that are run by go run, so that go.mod does not know them.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
VULNCHECK  := golang.org/x/vuln/cmd/govulncheck@v1.9.0
APIDIFF    := golang.org/x/exp/cmd/apidiff@v0.0.0-20261113113407-e3970619a1a4

export CGO_ENABLED = 0

# Heaps that may grow to five times what lives save a fifth of the processor time of compiling, and of linking a hundred test programs.
build test: export GOGC = 400

.PHONY: help size workflows vuln api module build figures notebook docs pages test test-long test-notebooks lint race test-cpu test-ptx mutate-ptx fmt fuzz bench generate gpu-bins gpu-folder gpu-pack gpu-rehearse gpu-check ptx ptx-check clean

# The digests of the experiments' code go into the command: it tells cells that other code computed. Symbol tables, which only
# debuggers read, are left out (-s -w): stack traces and profiles keep names and lines.
build:
	$(GO) build -buildvcs=auto -ldflags "-s -w -X main.version=$(VERSION) -X coupling/lab/store.codes=$$($(GO) run ./lab/cmd/codes figures)" \
	  -o bin/coupling ./lab/cmd/coupling

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

figures: build
	bin/coupling fig all --preset $(PRESET) --out $(OUT)

# The kernel is built from the tool lines of go.mod and installed below .coupling/, not into the home folder. Offline
# once Go has the modules.
notebook: build
	bin/coupling notebook $(NOTEBOOK) --preset $(PRESET)

docs: build
	bin/coupling notebook run --preset $(PRESET) --out $(OUT)/notebooks --pages

pages: build
	bin/coupling notebook run --preset $(PRESET) --out notebooks/pages --pages

# Uses the checkout's store, so that `make figures PRESET=smoke` before it saves it the figures.
test-notebooks:
	COUPLING_TEST_NOTEBOOKS=1 COUPLING_STORE=$${COUPLING_STORE:-$(CURDIR)/.coupling} $(GO) test -v -count=1 -p 1 -timeout 15m ./notebooks ./lab/nb/...
	COUPLING_TEST_NOTEBOOKS=1 $(GO) test -v -count=1 -run 'TestOpened|LeavesNothing|TestWrites/notebook|TestWrites/pages' ./lab/cmd/coupling

# go vet sees the tests too: go test need not vet again.
test:
	$(GO) vet ./...
	$(GO) test -short -vet=off ./...

test-long:
	$(GO) test -timeout 40m $(SKIP:%=-skip %) ./...

bin/golangci-lint-$(LINTER):
	GOBIN="$(CURDIR)/bin" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINTER)
	mv bin/golangci-lint $@

lint: bin/golangci-lint-$(LINTER)
	$< run ./...
	git ls-files | $(GO) run ./lab/cmd/size | diff .ci/size - || { echo "sizes changed; fix: make size, and commit .ci/size"; exit 1; }

size:
	git ls-files | $(GO) run ./lab/cmd/size > .ci/size
	cat .ci/size

# The race detector needs a C compiler; the packages with goroutines of their own.
race:
	CGO_ENABLED=1 $(GO) test -race ./lab ./lab/store ./lab/gallery ./data/internal/fetch ./dp/admm/...
	CGO_ENABLED=1 $(GO) test -race -short ./figures
	CGO_ENABLED=1 $(GO) test -race -short -run Workers ./lab/device
	CGO_ENABLED=1 $(GO) test -race -short ./lab/nn ./lab/nn/train
	CGO_ENABLED=1 $(GO) test -race -short -run 'Workers|Batch|OnDevice' ./ot

# The kernels and what stands on them, on each instruction set of this machine, or those named by ISA.
ISA ?= generic avx2 avx512
test-cpu: build
	@set -e; ran=; for isa in $(ISA); do \
	  COUPLING_CPU=$$isa bin/coupling version >/dev/null 2>&1 || { echo "$$isa: not on this machine"; continue; }; \
	  echo "== COUPLING_CPU=$$isa"; COUPLING_CPU=$$isa $(GO) test -count=1 ./lab/device/cpu ./ot ./ot/internal/...; \
	  COUPLING_CPU=$$isa $(GO) test -count=1 -short ./lab/nn/...; ran=yes; \
	done; test -n "$$ran"

# The PTX that ships, executed by an emulator (lab/device/internal/cuda/ptxsim) in the setting that finds most: operations, layers,
# networks, training and solvers. Products are our own, but for the networks the emulator's cuBLAS. Networks learn nothing by heart
# there. The operations in both types and all sizes, and every call of the driver: make test-long.
test-ptx:
	@set -e; test="$(GO) test -vet=off -ldflags=-s -count=1"; \
	  export COUPLING_CUDA_DRIVER=$$($(GO) run ./lab/device/ptxsim) COUPLING_CUBLAS=none COUPLING_DEVICE=cuda:0; \
	  COUPLING_CUDA_NO_CACHE=1 $$test -short -run TestOnDevice/Run ./lab/device; \
	  $$test -short -run OnDevice ./lab/nn ./lab/nn/train ./score ./score/dsm ./score/scones/neural; \
	  COUPLING_CUBLAS=$$COUPLING_CUDA_DRIVER $$test -short -run OnDevice ./lab/nn/arch; \
	  $$test -short -run '(Shared|Failures|DevicePlan|Resident)OnDevice' ./ot; \
	  COUPLING_DEVICE= $$test -run EmulatedOnDevice ./ot

# Outside of CI. MUTATE='-seed 2 -all barrier' draws others, and drops every barrier besides.
mutate-ptx:
	$(GO) run ./lab/device/internal/cuda/internal/mutate -n $(or $(MUTATIONS),100) $(MUTATE)

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

# Test binaries, so that the machine with the GPU needs no Go.
gpu-bins:
	$(GO) build -buildvcs=auto -ldflags "-s -w" -o bin/gpu/gpucheck ./lab/device/gpucheck
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/device.test ./lab/device
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/nn.test ./lab/nn
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/train.test ./lab/nn/train
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/arch.test ./lab/nn/arch
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/ot.test ./ot
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/eval.test ./score/eval
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/dsm.test ./score/dsm
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/scones.test ./score/scones/neural
	$(GO) test -c -ldflags "-s -w" -o bin/gpu/dpsinkhorn.test ./dp/synth/dpsinkhorn

# All that a machine with a GPU and without Go needs, some 23 MB: unpack it there and `sh gpu-pack/run.sh`. xz sees what the programs
# have in common by its large dictionary. DATA=FOLDER adds data sets, for figures at the papers' sizes.
gpu-pack: gpu-folder
	XZ_OPT=--lzma2=preset=6,dict=128MiB tar -C bin -cJf bin/gpu-pack.tar.xz gpu-pack
	ls -l bin/gpu-pack.tar.xz
	$(if $(DATA),,test $$(stat -c %s bin/gpu-pack.tar.xz) -lt 40000000)

gpu-folder: gpu-bins build
	rm -rf bin/gpu-pack && mkdir -p bin/gpu-pack/bin
	cp lab/device/gpucheck/pack/* bin/gpu-pack && cp bin/gpu/* bin/coupling bin/gpu-pack/bin
	for p in lab/device lab/nn lab/nn/train lab/nn/arch ot score/eval score/dsm score/scones/neural dp/synth/dpsinkhorn; do mkdir -p bin/gpu-pack/$$p; \
	  [ ! -d $$p/testdata ] || cp -r $$p/testdata bin/gpu-pack/$$p; done
	$(if $(DATA),cp -r $(DATA) bin/gpu-pack/data)

gpu-rehearse: gpu-folder
	tar -C bin -cf bin/gpu-pack.tar gpu-pack
	sh lab/device/gpucheck/rehearse.sh bin/gpu-pack.tar $$($(GO) run ./lab/device/ptxsim) $(PARTS)

gpu-check: gpu-bins
	bin/gpu/gpucheck -out lab/device/testdata/gpu

# ptxas needs no GPU. Debian has it in nvidia-cuda-toolkit (component non-free), which need not be installed:
#   apt-get download nvidia-cuda-toolkit && dpkg -x nvidia-cuda-toolkit_*.deb ptxas && PATH=$PWD/ptxas/usr/bin:$PATH make ptx-check
ptx-check:
	$(GO) test -count=1 -v -run TestRegisters ./lab/device/internal/cuda

ptx:
	$(GO) generate ./lab/device/internal/cuda

clean:
	rm -rf bin out

workflows:
	$(GO) run $(ACTIONLINT)

vuln:
	$(GO) run $(VULNCHECK) ./...

# Both sides are loaded from source: BASE in a worktree of its own.
api:
	rm -rf bin/api && git worktree prune && git worktree add --quiet --detach bin/api $(BASE)
	cd bin/api && $(GO) run $(APIDIFF) -m -w ../api.base $$($(GO) list -m)
	git worktree remove --force bin/api
	$(GO) run $(APIDIFF) -m bin/api.base $$($(GO) list -m)

module:
	$(GO) run ./lab/cmd/module $(MODULE)
