// Command mutate breaks kernels at random and reports whether tests find it, on the emulator:
//
//	go run ./lab/device/internal/cuda/internal/mutate -n 100 [-seed 1] [-kind barrier] [-kernel REGEXP]
//
// First it runs the tests and notes which lines of PTX each executes. A mutation changes one line
// of one kernel and runs the tests that execute it, cheapest first, until one fails. Kinds: a
// barrier is dropped, a bound off by one, a comparison turned, a shuffle takes another lane, a
// product of tensor cores its second factor the wrong way around, an access the word behind. With
// -n 0 every place of the kind is broken.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coupling/lab/device/internal/cuda/kernels"
	"coupling/lab/device/internal/cuda/kernels/ptx"
)

// tests launch every kernel, most of them with the loops of large problems; left are those that
// repeat others.
const (
	tests = `^(TestConformanceLarge|TestJoin|TestTensorProducts|` +
		`TestGemm|TestCuts|TestWide|TestLongSums|TestFunctions|TestRandomBits)$`
	left = `TestConformanceLarge/(Properties|Memory|Graph|Errors)|TestConformanceLarge/Operations/Again`
)

// site is a line that can be broken, counted from its kernel's .entry.
type site struct {
	kernel     string
	line       int // from the .entry
	at         int // in the module, as traces have it
	kind       string
	text, with string
}

// place is a line of a kernel as traces name it.
type place struct {
	kernel string
	line   int
}

// trial is a test, what it costs and executes.
type trial struct {
	name  string
	took  time.Duration
	lines map[place]bool
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 100, "mutations, drawn at random; 0 is all")
	seed := flag.Uint64("seed", 1, "of the draw")
	kind := flag.String("kind", "", "only this kind: barrier, bound, compare, shuffle, factor or index")
	kernel := flag.String("kernel", "", "only kernels that match")
	flag.Parse()
	which, err := regexp.Compile(*kernel)
	check(err)
	sites := slices.DeleteFunc(allSites(), func(s site) bool {
		return *kind != "" && s.kind != *kind || !which.MatchString(s.kernel)
	})
	dir, err := os.MkdirTemp("", "mutate")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "cuda.test")
	out, err := exec.Command("go", "test", "-c", "-o", binary, "./lab/device/internal/cuda").CombinedOutput()
	if err != nil {
		log.Fatalf("%v\n%s", err, out)
	}
	r := runner{binary, dir}
	trials := r.baseline()
	chosen := sites
	if *n > 0 {
		chosen = draw(sites, *n, rand.New(rand.NewPCG(*seed, 0)))
	}
	found := 0
	for _, s := range chosen {
		by, unseen := r.try(s, trials)
		if unseen == "" {
			found++
		}
		fmt.Fprintf(os.Stdout, "%-9s %s:%d  %s  →  %s: %s\n", s.kind, s.kernel, s.line, s.text, s.with, by+unseen)
	}
	fmt.Fprintf(os.Stdout, "%d of %d found\n", found, len(chosen))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// draw takes kernels in turn, in a random order, and of each a kind and a place of it.
func draw(sites []site, n int, rng *rand.Rand) (chosen []site) {
	by := map[string]map[string][]site{}
	for _, s := range sites {
		if by[s.kernel] == nil {
			by[s.kernel] = map[string][]site{}
		}
		by[s.kernel][s.kind] = append(by[s.kernel][s.kind], s)
	}
	names := slices.Sorted(maps.Keys(by))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for k := range n {
		of := by[names[k%len(names)]]
		kinds := slices.Sorted(maps.Keys(of))
		places := of[kinds[rng.IntN(len(kinds))]]
		chosen = append(chosen, places[rng.IntN(len(places))])
	}
	return chosen
}

var (
	entry    = regexp.MustCompile(`^\.visible \.entry (\w+)\(`)
	compares = regexp.MustCompile(`^setp\.(\w+)\.([sub]\d+|f\d+)(.*)$`)
	shuffles = regexp.MustCompile(`^(shfl\.sync\.bfly\.b32.*, )(\d+)(, 31, -1;)$`)
	products = regexp.MustCompile(`^(mma\.sync.*\{)(%\w+), (%\w+)(\}, \{[^{}]*\};)$`)
	accesses = regexp.MustCompile(`^((?:ld|st)\.(?:global|shared)(?:\.nc)?(?:\.v\d)?\.[fusb](\d\d).*\[[%\w]+)` +
		`(?:\+(-?\d+))?(\].*)$`)

	off  = map[string]string{"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}
	turn = map[string]string{
		"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq", "nan": "num", "num": "nan",
		"ltu": "ge", "geu": "lt", "gtu": "le", "leu": "gt", "equ": "ne", "neu": "eq",
	}
)

// allSites lists what can be broken in every kernel.
func allSites() (all []site) {
	for _, m := range kernels.Modules() {
		var kernel string
		first := 0
		for i, line := range strings.Split(module(m.Name), "\n") {
			if m := entry.FindStringSubmatch(line); m != nil {
				kernel, first = m[1], i
			}
			text := strings.Join(strings.Fields(line), " ")
			for kind, with := range broken(text) {
				all = append(all, site{kernel, i - first, i + 1, kind, text, with})
			}
		}
	}
	slices.SortFunc(all, func(a, b site) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// broken returns what a line can become, by kind.
func broken(text string) map[string]string {
	kinds := map[string]string{}
	if text == "bar.sync 0;" {
		kinds["barrier"] = ".pragma;"
	}
	if m := compares.FindStringSubmatch(text); m != nil {
		if with := off[m[1]]; with != "" && m[2][0] != 'f' {
			kinds["bound"] = "setp." + with + "." + m[2] + m[3]
		}
		if with := turn[m[1]]; with != "" {
			kinds["compare"] = "setp." + with + "." + m[2] + m[3]
		}
	}
	if m := shuffles.FindStringSubmatch(text); m != nil {
		kinds["shuffle"] = m[1] + map[string]string{"1": "2", "2": "4", "4": "8", "8": "16", "16": "1"}[m[2]] + m[3]
	}
	if m := products.FindStringSubmatch(text); m != nil {
		kinds["factor"] = m[1] + m[3] + ", " + m[2] + m[4]
	}
	if m := accesses.FindStringSubmatch(text); m != nil {
		at, _ := strconv.Atoi(m[3]) // none: 0
		kinds["index"] = fmt.Sprintf("%s+%d%s", m[1], at+map[string]int{"32": 4, "64": 8}[m[2]], m[4])
	}
	return kinds
}

func module(name string) string {
	packed, err := ptx.Files.ReadFile(name + ".ptx.gz")
	check(err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	check(err)
	text, err := io.ReadAll(z)
	check(err)
	return string(text)
}

// runner runs tests of the package cuda.
type runner struct{ binary, dir string }

// command is a run of tests.
func (r runner) command(ctx context.Context, pattern string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.binary, "-test.v", "-test.timeout", "0", "-test.run", pattern, "-test.skip", left)
	cmd.Dir, cmd.Env = "lab/device/internal/cuda", append(os.Environ(), env...)
	return cmd
}

// fails reports whether a test fails, or runs longer than a limit: in a loop that does not end.
func (r runner) fails(test string, limit time.Duration, patch string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return r.command(ctx, exactly(test), "PTXSIM_PATCH="+patch).Run() != nil
}

// baseline runs all tests with a trace. What stands in it when the next test begins is of the last
// one, or of few before it.
func (r runner) baseline() (all []trial) {
	trace := filepath.Join(r.dir, "trace")
	cmd := r.command(context.Background(), tests, "PTXSIM_TRACE="+trace)
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	type start struct {
		name string
		at   int64 // bytes of the trace
		when time.Time
	}
	var starts []start
	mark := func(name string) {
		size := int64(0)
		if info, err := os.Stat(trace); err == nil {
			size = info.Size()
		}
		starts = append(starts, start{name, size, time.Now()})
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "=== RUN   "); ok {
			mark(strings.TrimSpace(name))
		}
	}
	mark("")
	if err := cmd.Wait(); err != nil {
		log.Fatalf("the tests fail without a mutation: %v", err)
	}
	f, err := os.Open(trace)
	check(err)
	defer f.Close()
	for i, s := range starts[:len(starts)-1] {
		next := starts[i+1]
		if strings.HasPrefix(next.name, s.name+"/") {
			continue // its subtests stand for it
		}
		const before = 1 << 14
		from := max(0, s.at-before)
		t := trial{s.name, next.when.Sub(s.when), map[place]bool{}}
		for lines := bufio.NewReader(io.NewSectionReader(f, from, next.at-from)); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			var launch struct {
				Kernel string
				Lines  []int
			}
			_ = json.Unmarshal(line, &launch) // the first one is cut
			for _, line := range launch.Lines {
				t.lines[place{launch.Kernel, line}] = true
			}
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b trial) int { return int(a.took - b.took) })
	return all
}

// exactly is the pattern of one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// try runs the tests that execute a line with it broken: which finds it, or why none does.
func (r runner) try(s site, trials []trial) (by, unseen string) {
	ran := 0
	for _, t := range trials {
		if !t.lines[place{s.kernel, s.at}] {
			continue
		}
		ran++
		if r.fails(t.name, 20*t.took+time.Minute, fmt.Sprintf("%s:%d:%s", s.kernel, s.line, s.with)) {
			return t.name, ""
		}
	}
	if ran == 0 {
		return "", "NOT FOUND, no test executes it"
	}
	return "", fmt.Sprintf("NOT FOUND by %d tests that execute it", ran)
}
