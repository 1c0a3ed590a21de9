// Command mutate breaks kernels at random and reports whether tests find it, on the emulator:
//
//	go run ./lab/device/internal/cuda/internal/mutate -n 100 [-seed 1] [-all barrier] [-kernel REGEXP]
//
// A mutation changes one line of PTX of one kernel and runs the tests that launch it until one
// fails, or until they have taken a minute of the processor, as one does whose loop does not end.
// Kinds: a barrier is dropped, a bound off by one, a comparison turned, a shuffle takes another
// lane, a product of tensor cores its second factor the wrong way around, an access the word behind.
//
// UNSEEN lists what tests do not find, a pattern and its reason a line. The program fails if a
// mutation is neither found nor listed, or is found though it is listed. Without a mutation the
// tests pass: make test-long runs them.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
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

	"coupling/lab/device/internal/cuda/kernels"
	"coupling/lab/device/internal/cuda/kernels/ptx"
)

// launching are the tests that launch kernels: scenarios of package devicetest, with the loops of
// large problems, and others.
var launching = []struct{ kernels, scenarios, others string }{
	{"anneal", "Anneal", ""},
	{"lse_|join_", "LSERows_and_LSECols|LSE_of_wide_costs|Large_problems", "TestJoin"},
	{"join_sums", "Points,_d_=_(2|3)", ""},
	{"weights|row_mass|col_mass|join_wide", "PlanRows_and_PlanCols|Large_problems", ""},
	{"fill|narrow|widen", "Fill|Convert|Zeros", "TestConformance$/^Operations$/^Fill$"},
	{"map", "Map.*|Large_maps", "TestFunctions"},
	{"combine|axpby", "Broadcast|Combine_extremes|Axpby|Large_maps", "TestWide"},
	{"gemm", "Gemm.*|Large_products", ""},
	{"gemm_join", "Gemm", "TestJoin"},
	{"im2col|col2im|permute", "Conv|Large_maps", ""},
	{"transpose", "Conv", "TestTranspose"},
	{"(max|avg|mean)_pool", ".*Pool", ""},
	{"nearest|bilinear", "Nearest|Bilinear.*", ""},
	{"paste", "Paste_and_Cut", ""},
	{"gather|scatter", "Gather_and_Scatter", "TestConformanceLarge/^Errors$"},
	{"affine|moments", "Affine|Moments.*", ""},
	{"uniform|normal|advance", "Uniform|Normal|Stream", ""},
	{"sum_|mean|squares|norm_|largest|logsumexp|dot", "Reduce.*|Large_maps", "TestCancelled"},
	{"pairs|differences", "Costs|Points,_d_=_100", "TestConformance$/^Operations$/^Costs$"},
	{"cross_entropy", "CrossEntropy|Large_problems", "TestConformanceLarge/^Errors$"},
	{"clip_rows", "ClipRows|Large_problems", ""},
	{"adam|sgd|tick|update", "Adam|SGD", ""},
	{"point_(mass|apply)", "", "TestInfiniteSums"},
	{"point_.*[a-z]1_", "Points,_d_=_1", "TestLongSums"},
	{"point_.*[a-z]2_", "Points|Points,_d_=_2", ""},
	{"point_.*[a-z]3_", "Points|Points,_d_=_3", ""},
	{"point_.*[a-z]4_", "Points,_d_=_4", ""},
	{"point_.*[a-z]8_", "Points,_d_=_(5|7|8)", ""},
	{"point_.*[a-z]16_", "Points,_d_(=_11|to_16)", "TestTensorProducts"},
	{"point_.*[a-z]32_", "Points,_d_(=_17|to_32)", "TestTensorProducts"},
	{"point_.*[a-z]64_", "Points,_d_(=_64|to_64)", "TestTensorProducts"},
}

// testsOf is what -test.run is for a kernel: scenarios of its type alone, if it has one.
func testsOf(kernel string) string {
	dtype := ""
	if bits := kernel[len(kernel)-2:]; strings.HasSuffix(kernel, "_f"+bits) {
		dtype = "/^float" + bits + "$"
	}
	var all []string
	for _, l := range launching {
		if !regexp.MustCompile("^(" + l.kernels + ")").MatchString(kernel) {
			continue
		}
		if l.others != "" {
			all = append(all, "^"+l.others)
		}
		all = append(all, "^TestConformanceLarge$/^Operations$/^("+l.scenarios+")$"+dtype)
	}
	if all == nil {
		log.Fatalf("no test is known to launch %s", kernel)
	}
	return strings.Join(all, "|")
}

// site is a line that can be broken, counted from its kernel's .entry.
type site struct {
	kernel     string
	line       int // from the .entry
	kind       string
	text, with string
}

func (s site) String() string { return fmt.Sprintf("%s %s:%d %s", s.kind, s.kernel, s.line, s.text) }

//go:embed UNSEEN
var unseen string

// like returns whether a site is what a line of UNSEEN has.
func like(pattern string) func(site) bool {
	whole := regexp.MustCompile("^" + pattern + "$")
	return func(s site) bool { return whole.MatchString(s.String()) }
}

// reason is what UNSEEN has for a site, empty for none.
func reason(s site) string {
	for line := range strings.Lines(unseen) {
		pattern, why, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if ok && like(pattern)(s) {
			return why
		}
	}
	return ""
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 100, "mutations, drawn at random")
	seed := flag.Uint64("seed", 1, "of the draw")
	all := flag.String("all", "", "and every one of a kind: barrier, bound, compare, shuffle, factor or index")
	kernel := flag.String("kernel", "", "only kernels that match")
	flag.Parse()
	which, err := regexp.Compile(*kernel)
	check(err)
	sites := slices.DeleteFunc(allSites(), func(s site) bool { return !which.MatchString(s.kernel) })
	chosen := draw(sites, *n, rand.New(rand.NewPCG(*seed, 0)))
	for _, s := range sites {
		if s.kind == *all {
			chosen = append(chosen, s)
		}
	}
	dir, err := os.MkdirTemp("", "mutate")
	check(err)
	binary := filepath.Join(dir, "cuda.test")
	out, err := exec.Command("go", "test", "-c", "-o", binary, "./lab/device/internal/cuda").CombinedOutput()
	if err != nil {
		log.Fatalf("%v\n%s", err, out)
	}
	found, wrong := 0, 0
	for _, s := range chosen {
		by, why := failed(binary, testsOf(s.kernel), fmt.Sprintf("%s:%d:%s", s.kernel, s.line, s.with)), reason(s)
		verdict := "NOT FOUND, and not in UNSEEN"
		switch {
		case by != "" && why != "":
			verdict = "found by " + by + " THOUGH IN UNSEEN: " + why
		case by != "":
			verdict = "found by " + by
		case why != "":
			verdict = "not found: " + why
		}
		if by != "" {
			found++
		}
		if (by != "") == (why != "") {
			wrong++
		}
		fmt.Fprintf(os.Stdout, "%v → %s: %s\n", s, s.with, verdict)
	}
	check(os.RemoveAll(dir))
	fmt.Fprintf(os.Stdout, "%d of %d found, %d wrong\n", found, len(chosen), wrong)
	if wrong > 0 {
		os.Exit(1)
	}
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
				all = append(all, site{kernel, i - first, kind, text, with})
			}
		}
	}
	slices.SortFunc(all, func(a, b site) int { return strings.Compare(a.String(), b.String()) })
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

var failure = regexp.MustCompile(`--- FAIL: (\S+)`)

// failed runs tests and returns the first that fails, with one line of a kernel replaced.
func failed(binary, tests, patch string) string {
	cmd := exec.Command("sh", "-c", `ulimit -t 60; exec "$0" -test.failfast -test.run "$1"`, binary, tests)
	cmd.Dir, cmd.Env = "lab/device/internal/cuda", append(os.Environ(), "PTXSIM_PATCH="+patch)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	name := err.Error() // a test that did not end
	for _, m := range failure.FindAllSubmatch(out, -1) {
		name = string(m[1])
	}
	return name
}
