package cuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/device/internal/cuda/kernels"
	"coupling/lab/device/internal/cuda/kernels/ptx"
	"coupling/lab/must"
)

// TestSources: the PTX was made from these sources.
func TestSources(t *testing.T) {
	want := must.Get(kernels.Sum())
	got := must.Get(ptx.Files.ReadFile("SOURCES"))
	if strings.TrimSpace(string(got)) != want {
		t.Error("the kernels changed since their PTX was made: go generate ./lab/device/internal/cuda")
	}
}

// TestReproducible: compiling again gives the same bytes. Needs the compiler and half a minute.
func TestReproducible(t *testing.T) {
	if os.Getenv("COUPLING_THOROUGH") != "1" {
		t.Skip("COUPLING_THOROUGH=1 compiles all kernels again")
	}
	if _, err := exec.LookPath(kernels.Compiler); err != nil {
		t.Skipf("%v (Debian's package clang-19)", err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "./internal/gen", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range kernels.Modules() {
		want := must.Get(ptx.Files.ReadFile(m.Name + ".ptx.gz"))
		if got, err := os.ReadFile(filepath.Join(dir, m.Name+".ptx.gz")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v", m.Name, err)
		}
	}
}

// TestMachineCode: an H200 is handed machine code, with every kernel that the PTX has. Another GPU,
// an older driver and a driver that refuses the code get the PTX.
func TestMachineCode(t *testing.T) {
	for _, c := range []struct {
		env, value string
		want       bool
	}{
		{"PTXSIM_CAPABILITY", "90", true}, {"PTXSIM_CAPABILITY", "80", false}, {"PTXSIM_CAPABILITY", "100", false},
		{"PTXSIM_VERSION", "11080", false}, {"PTXSIM_FAIL", "cubin", false},
	} {
		t.Run(c.env+"="+c.value, func(t *testing.T) {
			t.Setenv("PTXSIM_CAPABILITY", "90")
			t.Setenv(c.env, c.value)
			r := newRig(t, Config{})
			if !c.want { // the emulator executes PTX alone
				x := r.set(backend.Float32, []float64{1, 2, 3}, 3)
				r.do(func() { r.g.Map(x, x, backend.Square, 0) })
				r.near("squares", r.get(x), []float64{1, 4, 9}, 0, 0)
			}
			r.ok(r.g.do(func() error {
				for _, m := range kernels.Modules() {
					loaded, err := r.g.module(m.Name)
					if err != nil {
						return err
					}
					for name := range loaded.entries {
						if _, err := r.g.entry(m.Name, name); err != nil {
							return err
						}
					}
				}
				return nil
			}))
			if m := r.g.modules["elementwise"]; m == nil || m.machine != c.want {
				t.Errorf("%+v: machine code must be %v", m, c.want)
			}
		})
	}
}

// wide is a division of 64 bits: dozens of instructions.
var wide = regexp.MustCompile(`(div|rem)\.[us]64`)

// TestPTX looks for what the driver would refuse or run slowly: functions that nobody has, arrays that went to local
// memory, another version or target, divisions of 64 bits where they have no reason.
func TestPTX(t *testing.T) {
	// Kernels that divide by 64-bit sizes: in the branch for tensors of 2^31 elements or more
	// (place, paste, resampling) or once a row.
	divide := regexp.MustCompile(
		`^(combine|affine|moments|permute|paste|transpose|nearest|lse_rows|` +
			`sum|mean|squares|norm|largest|logsumexp|dot)`)
	for _, m := range kernels.Modules() {
		text := must.Get(readFile(m.Name + ".ptx.gz"))
		if !bytes.Contains(text, []byte(".version 7.0\n.target sm_80\n")) {
			t.Errorf("%s: another version or target", m.Name)
		}
		for _, bad := range []string{".extern", ".local", "call.uni", ".func"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%s has %s", m.Name, bad)
			}
		}
		entries, err := parsePTX(text)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%s: %d kernels, %v", m.Name, len(entries), err)
		}
		for _, part := range strings.Split(string(text), ".visible .entry ")[1:] {
			name, _, _ := strings.Cut(part, "(")
			if wide.MatchString(part) && !divide.MatchString(name) {
				t.Errorf("%s: %s divides 64-bit numbers", m.Name, name)
			}
			if e := entries[name]; e == nil || e.block < 32 || e.block > 256 ||
				len(e.params) > len(launchSlots{}.pointers) {
				t.Errorf("%s: %s: %+v", m.Name, name, e)
			}
		}
		if m.Name == "random" && regexp.MustCompile(`\b(fma\.rn|mul|add|sub)\.f32`).Match(text) {
			t.Error("random: products and sums may be contracted")
		}
	}
}

// declared is an array in shared memory, which PTX declares in the kernel that has it.
var declared = regexp.MustCompile(`(?m)^\s*\.shared \.align \d+ \.(?:b8 [\w$]+\[(\d+)\]|\w32 [\w$]+(?:\[1\])?);$`)

// TestSharedMemory: a kernel's arrays fit in the 48 KiB that a block gets without asking, and kernels that have a path
// for |x−y|₁ and one without stage points in the same array.
func TestSharedMemory(t *testing.T) {
	found := 0
	for _, m := range kernels.Modules() {
		text := must.Get(readFile(m.Name + ".ptx.gz"))
		if n := len(declared.FindAll(text, -1)); n != bytes.Count(text, []byte(".shared .align")) {
			t.Errorf("%s: some declarations look otherwise", m.Name)
		}
		for _, part := range strings.Split(string(text), ".visible .entry ")[1:] {
			name, body, _ := strings.Cut(part, "(")
			arrays, sum := declared.FindAllStringSubmatch(body, -1), 0
			for _, d := range arrays {
				size := 4 // of one number
				if d[1] != "" {
					size = must.Get(strconv.Atoi(d[1]))
				}
				sum += size
			}
			if found += len(arrays); sum > 48<<10 {
				t.Errorf("%s: %d bytes", name, sum)
			}
			if strings.HasPrefix(name, "point_") && len(arrays) != 1 {
				t.Errorf("%s: %d arrays: must be 1", name, len(arrays))
			}
			if m.Name == "tiles" && len(arrays) != 2 {
				t.Errorf("%s: %d arrays: must be 2", name, len(arrays))
			}
		}
	}
	if found == 0 {
		t.Error("no kernel has any")
	}
}
