package ot_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// promise is a sentence that states that something is right, exact, bounded or the same.
var promise = regexp.MustCompile(`\b(right|exact|never|at most|bit for bit|same bits|without loss|safe)\b`)

// promises are the promising sentences of the documentation of the package, by a part of each, and the test that fails if it is
// not true; none for a word that promises nothing.
var promises = map[string]string{
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

func TestPromises(t *testing.T) {
	set := token.NewFileSet()
	parse := func(tests bool) (files []*ast.File) {
		//nolint:staticcheck // the deprecation is about build tags, which these files do not have
		packages, err := parser.ParseDir(set, ".", func(f fs.FileInfo) bool { return strings.HasSuffix(f.Name(), "_test.go") == tests }, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			for _, f := range p.Files {
				files = append(files, f)
			}
		}
		return files
	}
	tests := map[string]bool{}
	for _, f := range parse(true) {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = true
			}
		}
	}
	p, err := doc.NewFromFiles(set, parse(false), "coupling/ot")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(p.Doc)
	for _, v := range p.Types {
		ast.Inspect(v.Decl, func(n ast.Node) bool {
			if c, ok := n.(*ast.CommentGroup); ok {
				text.WriteString("\n" + c.Text())
			}
			return true
		})
		text.WriteString("\n" + v.Doc)
		for _, m := range append(v.Methods, v.Funcs...) {
			text.WriteString("\n" + m.Doc)
		}
	}
	used := map[string]bool{}
	for _, s := range regexp.MustCompile(`[.;:]\s|\n\n`).Split(text.String(), -1) {
		if s = strings.Join(strings.Fields(s), " "); !promise.MatchString(s) {
			continue
		}
		found := false
		for part, test := range promises {
			if strings.Contains(s, part) {
				found, used[part] = true, true
				if test != "" && !tests[test] {
					t.Errorf("%q: there is no %s", part, test)
				}
			}
		}
		if !found {
			t.Errorf("no test is named for %q", s)
		}
	}
	for part := range promises {
		if !used[part] {
			t.Errorf("the documentation does not state %q", part)
		}
	}
}
