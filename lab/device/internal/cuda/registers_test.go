package cuda

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/device/internal/cuda/kernels"
	"coupling/lab/must"
)

// COUPLING_UPDATE_REGISTERS=1 writes testdata/REGISTERS anew.
var updateRegisters = os.Getenv("COUPLING_UPDATE_REGISTERS") == "1"

// What of ptxas a machine needs, and how it comes by it.
const noPtxas = `ptxas is not in the PATH. It is in Debian's package nvidia-cuda-toolkit, of the component non-free,
and needs no installation:
	apt-get download nvidia-cuda-toolkit && dpkg -x nvidia-cuda-toolkit_*.deb ptxas &&
    PATH=$PWD/ptxas/usr/bin:$PATH make ptx-check`

// use is what a kernel takes of a multiprocessor: registers a thread, bytes of stack and of spills a thread, bytes of
// shared memory a block, and how many blocks fit at once.
type use struct{ regs, stack, spill, shared, blocks int }

// chips are multiprocessors: bytes of shared memory that blocks can have. All have 65,536 registers, given out to warps
// by 256, and room for 64 warps and 32 blocks; a block takes 1 KiB of shared memory besides its own (CUDA programming
// guide 12.4, table 21).
var chips = map[string]int{"sm_80": 164 << 10, "sm_90": 228 << 10}

func (u *use) fit(threads, shared int) {
	warps := (threads + 31) / 32
	u.blocks = min(32, 64/warps, 65536/((u.regs*32+255)/256*256)/warps, shared/(u.shared+1024))
}

// spills are the kernels that may spill, and by how many bytes a thread: each with its reason.
var spills = map[string]int{
	// 64 coordinates and 64 sums a thread are half of all registers before anything is computed
	"point_grad64_f32": 256,
	"adam_f32":         16, // bound by memory
	"bilinear_vjp_f64": 16, // on sm_80, before its loops
	"point_lse8_f64":   8,
	"gemm_big_f32":     16, // on sm_80: two blocks a multiprocessor, once a tile
	"point_cost16_f32": 32, // on sm_80: the assembler's choice, for a block more
	"point_cost32_f32": 32,
	"point_lse32_f32":  80, // on sm_80, none of it in the loop over pairs
}

// TestRegisters holds what NVIDIA's assembler makes of every kernel to testdata/REGISTERS: no spill
// that is not allowed, at most 8 registers more than there, not a block a multiprocessor less. A
// chip that is not in the table is only held to the spills.
func TestRegisters(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		t.Skip(noPtxas)
	}
	help := must.Get(exec.Command(ptxas, "--help").Output())
	version := must.Get(exec.Command(ptxas, "--version").Output())
	committed := bytes.Contains(version, []byte(kernels.Assembler))
	if !committed {
		t.Logf("the embedded machine code is of another release (%s) and is not compared: %s",
			kernels.Assembler, version)
	}
	var table strings.Builder
	table.WriteString("# kernel, chip: registers, stack, spilled bytes, shared bytes, blocks a multiprocessor\n")
	want := readRegisters(t)
	for _, arch := range []string{"sm_80", "sm_90", "sm_100"} {
		if !strings.Contains(string(help), "'"+arch+"'") {
			t.Logf("this ptxas does not know %s", arch)
			continue
		}
		for _, m := range kernels.Modules() {
			for _, k := range assemble(t, arch, m.Name, committed) {
				if k.spill > spills[k.name] || k.stack > 0 && spills[k.name] == 0 {
					t.Errorf("%s on %s: %d bytes of stack, %d spilled, of which %d are allowed", k.name, arch, k.stack,
						k.spill, spills[k.name])
				}
				if chips[arch] == 0 {
					continue
				}
				key := k.name + " " + arch
				fmt.Fprintf(&table, "%s %d %d %d %d %d\n", key, k.regs, k.stack, k.spill, k.shared, k.blocks)
				w, known := want[key]
				if !updateRegisters && (!known || k.regs > w.regs+8 || k.blocks < w.blocks) {
					t.Errorf(
						"%s: %+v, in the table (%v) %+v; if that is meant: COUPLING_UPDATE_REGISTERS=1 make ptx-check",
						key, k.use, known, w)
				}
				delete(want, key)
			}
		}
	}
	if updateRegisters {
		must.Do(os.WriteFile("testdata/REGISTERS", []byte(table.String()), 0o644))
		return
	}
	for key := range want {
		t.Errorf("%s is in the table and not among the kernels", key)
	}
}

type assembled struct {
	name string
	use
}

var saidBy = regexp.MustCompile(
	`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n` +
		`.*Used (\d+) registers(?:.*?(\d+) bytes smem)?`)

// assemble returns what the kernels of a module use. Code for sm_90 must be what is embedded, if
// that is of this assembler.
func assemble(t *testing.T, arch, module string, committed bool) (all []assembled) {
	t.Helper()
	text := must.Get(readFile(module + ".ptx.gz"))
	entries := must.Get(parsePTX(text))
	dir := t.TempDir()
	in, out := filepath.Join(dir, module+".ptx"), filepath.Join(dir, module+".cubin")
	must.Do(os.WriteFile(in, text, 0o644))
	said, err := kernels.Assemble(arch, in, out).CombinedOutput()
	if err != nil {
		t.Fatalf("ptxas %s %s: %v\n%s", arch, module, err, said)
	}
	if arch == "sm_90" && committed {
		want, err := readFile(module + ".cubin.gz")
		if got, err2 := os.ReadFile(out); err != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("the committed code of %s is not its PTX's: go generate ./lab/device/internal/cuda (%v, %v)",
				module, err, err2)
		}
	}
	for part := range strings.SplitSeq(string(said), "Function properties for ") {
		name, rest, _ := strings.Cut(part, "\n")
		e := entries[name]
		if e == nil {
			continue // what stands before the first
		}
		f := saidBy.FindStringSubmatch(rest)
		if f == nil {
			t.Fatalf("ptxas says something else of %s: %s", name, rest)
		}
		n := [6]int{}
		for k := 1; k < 6; k++ {
			n[k], _ = strconv.Atoi(f[k])
		}
		k := assembled{name, use{regs: n[4], stack: n[1], spill: n[2] + n[3], shared: n[5]}}
		k.fit(e.block, chips[arch])
		all = append(all, k)
	}
	if len(all) != len(entries) {
		t.Fatalf("ptxas spoke of %d of %d kernels of %s", len(all), len(entries), module)
	}
	return all
}

func readRegisters(t *testing.T) map[string]use {
	t.Helper()
	want := map[string]use{}
	f, err := os.Open("testdata/REGISTERS")
	if err != nil {
		if updateRegisters {
			return want
		}
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var name, arch string
		var u use
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		if _, err := fmt.Sscan(s.Text(), &name, &arch, &u.regs, &u.stack, &u.spill, &u.shared, &u.blocks); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		want[name+" "+arch] = u
	}
	return want
}
