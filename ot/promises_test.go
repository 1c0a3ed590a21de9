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

// promises are the promising sentences of the documentation of this package and those beside it, by a part of each,
// and the test that fails if it is not true; none for a word that promises nothing.
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
	"solvers keep at most 170 MB":                       "", // of memory
	"held, unless it exceeds 1 GiB":                     "", // of memory

	"Primal − Dual where the marginals are exact":          "TestCertify",
	"proves each answer with dual potentials":              "TestDuality",
	"a plan of at most n+m−1 arcs":                         "TestDuality",
	"returns four arcs at most":                            "TestDuality",
	"both are at most Price/2":                             "TestPartial",
	"a step moves S by at most 1e-14 d":                    "", // when a loop stops
	"whose middle factor is at most 1":                     "TestIllConditioned",
	"weights of 0, every kind of penalty":                  "", // what a kit draws
	"is for the method \"exact\"":                          "", // a flag
	"at most 1 where f = ρ":                                "TestTerms",
	"Rho = +Inf keeps it exact":                            "TestUnbalancedLimit",
	"is optimal where an exact marginal would take s":      "TestTerms",
	"0 where the marginal is exact":                        "TestTerms",
	"at most the value of the problem (ot's RegKL)":        "TestFinite",
	"at the kinks of Pearson and ChiSquare from the right": "", // of the two sides
	"the plan is sparse, which KL's never is":              "TestTwoByTwo",
	"rounded to exact marginals":                           "TestCertificates",
	"at most 2 MarginalL1 in total":                        "", // a lemma of the paper named
	"from the potentials of exact transport":               "", // what is computed
	"exact transport's G":                                  "", // what is computed
	"exact transport once, for a start":                    "", // what is computed
	"(1e3 Tol + 1e-10) (λ + the range of the costs)":       "TestTinyWeights",
}

// documented is a comment before an exported declaration or field, or a package.
var documented = regexp.MustCompile(`(?m)((?:^\s*//.*\n)+)^(?:package|type [A-Z]|func (?:\(.*?\) )?[A-Z]|\t[A-Z])`)

func TestPromises(t *testing.T) {
	files := slices.Concat(must.Get(filepath.Glob("*.go")), must.Get(filepath.Glob("*/*.go")))
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
