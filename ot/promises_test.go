package ot_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coupling/lab/must"
)

// promise is a sentence that states that something is right, exact, bounded or the same.
var promise = regexp.MustCompile(`\b(right|exact|never|at most|bit for bit|same bits|without loss|safe)\b`)

// promises are the promising sentences of the documentation of the package, by a part of each, and
// the test that fails if it is not true; none for a word that promises nothing.
var promises = map[string]string{
	"at most 170 MB of lists and kernels":               "", // of memory
	"Converged means that the L1 error":                 "TestStatusIsHonest",
	"its values are then right to that error":           "TestReferences",
	"as right as MarginalL1 says":                       "TestWeakCouplingIsFlagged",
	"Between many points in at most three dimensions":   "TestSorted",
	"reduced costs c − u − v, subtracted without loss":  "TestHugeCostsExactPlan",
	"as exact as the plan even where the system":        "TestMethodsAgree",
	"and the costs are more exact":                      "", // of the user's remedy
	"right for small atoms too, where they are coupled": "TestPotentialsOfSmallWeights",
	"they then restart, once and only up to":            "TestWideRangeOfWeights",
	"the same bits for any GOMAXPROCS":                  "TestLaws",
	"Tol stops when":                                    "", // what a field means; Status says what became of it
	"Each plan equals, bit for bit":                     "TestBatch",
	"What is exact":                                     "", // a heading: "reached" is TestHonestOnDevice
	"SqEuclideanL1 are never held":                      "TestLargeOnDevice",
	"potentials and costs of any size relative to ε":    "TestHardProblems",
	"safe for concurrent use":                           "TestPlanIsShared",
	"never above the optimum, and below it by at most":  "TestValueBound",
	"never more than twice the range of the costs":      "TestValueBound",
	"n·m float64 besides the costs, at most 1 GiB":      "TestBadParameters",
	"which makes the rows exact":                        "TestStatusIsHonest",
	"+Inf keeps the marginal exact":                     "TestUnbalancedLimit",
	"those by weights are exact, not up to a constant":  "TestUnbalancedGradient",
}

// documented is a comment before an exported declaration or field, or a package.
var documented = regexp.MustCompile(`(?m)((?:^\s*//.*\n)+)^(?:package|type [A-Z]|func (?:\(.*?\) )?[A-Z]|\t[A-Z])`)

func TestPromises(t *testing.T) {
	files := must.Get(filepath.Glob("*.go"))
	within := must.Get(filepath.Glob("internal/*/*_test.go"))
	var tests, docs strings.Builder
	for _, name := range slices.Concat(files, within) {
		text := must.Get(os.ReadFile(name))
		if strings.HasSuffix(name, "_test.go") {
			tests.Write(text)
			continue
		}
		for _, c := range documented.FindAllStringSubmatch(string(text), -1) {
			docs.WriteString(strings.ReplaceAll(c[1], "//", "") + ".\n")
		}
	}
	for _, s := range regexp.MustCompile(`[.;:]\s`).Split(docs.String(), -1) {
		s = strings.Join(strings.Fields(s), " ")
		known := !promise.MatchString(s)
		for part, test := range promises {
			if strings.Contains(s, part) {
				known = test == "" || strings.Contains(tests.String(), "func "+test+"(")
			}
		}
		if !known {
			t.Errorf("no test is named, or it is gone, for %q", s)
		}
	}
}
