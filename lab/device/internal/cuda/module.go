package cuda

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"coupling/lab/device/internal/cuda/kernels/ptx"
)

// module is one compiled source: its kernels are loaded together, when the first of them is used.
type module struct {
	handle  uintptr
	entries map[string]*entry
	machine bool // loaded from machine code, not from PTX
}

// entry is a kernel as its PTX declares it.
type entry struct {
	name   string
	params []int // sizes in bytes
	block  int   // threads of a block
	handle uintptr
}

// entry returns a kernel, and its function of the driver.
func (g *gpu) entry(moduleName, name string) (*entry, error) {
	m, err := g.module(moduleName)
	if err != nil {
		return nil, err
	}
	e := m.entries[name]
	if e == nil {
		return nil, fmt.Errorf("cuda: there is no kernel %s in %s", name, moduleName)
	}
	if e.handle == 0 {
		symbol := append([]byte(name), 0)
		if err := g.call(cuModuleGetFunction, uintptr(unsafe.Pointer(&e.handle)), m.handle,
			uintptr(unsafe.Pointer(&symbol[0]))); err != nil {
			return nil, calledFor(name, err)
		}
	}
	return e, nil
}

// Options of cuModuleLoadDataEx, as the driver numbers them.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// Machine code is embedded for compute capability 9.0 (H100, H200). Drivers for CUDA 12 run what
// CUDA 12's assembler made ("minor version compatibility" in NVIDIA's CUDA Compatibility guide).
const (
	machineCapability = 90
	machineDriver     = 12000
)

// module returns a module. When it is asked for the first time, the driver is handed its machine
// code where that fits, and its PTX, which the driver compiles, where it does not or is refused.
func (g *gpu) module(name string) (*module, error) {
	if m := g.modules[name]; m != nil {
		return m, nil
	}
	text, err := readFile(name + ".ptx.gz")
	if err != nil {
		return nil, err
	}
	m := &module{}
	if m.entries, err = parsePTX(text); err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", name, err)
	}
	if g.machine {
		code, err := readFile(name + ".cubin.gz")
		if err != nil {
			return nil, err
		}
		m.machine = g.load(m, name, code) == nil
	}
	if !m.machine {
		if err := g.load(m, name, append(text, 0)); err != nil {
			return nil, err
		}
	}
	g.modules[name] = m
	return m, nil
}

// load hands an image to the driver. The error has what its compiler said.
func (g *gpu) load(m *module, name string, image []byte) error {
	log := make([]byte, 8192)
	options := [2]int32{jitErrorLog, jitErrorLogSize}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&log[0])
	values := [2]uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	if err := g.call(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&image[0])), 2,
		uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0]))); err != nil {
		said, _, _ := bytes.Cut(log, []byte{0})
		return fmt.Errorf("%w\n%s", calledFor(name, err), said)
	}
	return nil
}

// readFile returns the content of an embedded file, decompressed.
func readFile(name string) ([]byte, error) {
	f, err := ptx.Files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// parsePTX reads names, parameters and block sizes of the kernels.
func parsePTX(text []byte) (map[string]*entry, error) {
	entries := map[string]*entry{}
	for part := range strings.SplitSeq(string(text), ".visible .entry ") {
		name, rest, ok := strings.Cut(part, "(")
		if !ok || name == "" || strings.ContainsAny(name, " \n") {
			continue // what stands before the first
		}
		e := &entry{name: name}
		list, body, _ := strings.Cut(rest, ")")
		for line := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			size, err := paramSize(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			e.params = append(e.params, size)
		}
		_, bound, ok := strings.Cut(body, ".maxntid ")
		bound, _, _ = strings.Cut(bound, ",")
		block, err := strconv.Atoi(bound)
		if !ok || err != nil || block < 1 || block > 1024 {
			return nil, fmt.Errorf("%s has no launch bounds", name)
		}
		e.block = block
		entries[name] = e
	}
	return entries, nil
}

// paramSize is the size of a parameter such as ".param .u64 f_param_0" or ".param .align 8 .b8 f_param_1[208]".
func paramSize(line string) (int, error) {
	if _, size, ok := strings.Cut(line, "["); ok {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(size), "]"))
		if err == nil && n < 1 {
			err = fmt.Errorf("parameter %q", strings.TrimSpace(line))
		}
		return n, err
	}
	for _, f := range strings.Fields(line) {
		switch f {
		case ".u64", ".s64", ".b64", ".f64":
			return 8, nil
		case ".u32", ".s32", ".b32", ".f32":
			return 4, nil
		}
	}
	return 0, fmt.Errorf("parameter %q", strings.TrimSpace(line))
}
