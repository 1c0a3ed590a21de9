package figtest

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/store"
)

// Texts multiplies each numeric parameter of a computed figure's own cells by a factor, draws it
// again from the same results, and fails where a text (a caption, a badge, a label, a note, a law)
// still gives the old value: in "σ = 1", or anywhere in a caption or badge if the value is not 1 or
// 2, which captions have for many reasons. A value that another parameter has too must change with
// one of them.
func Texts(t *testing.T, store *store.Store, f lab.Figure) {
	t.Helper()
	kind := reflect.TypeOf(f.Grid(Setting)).Elem()
	type place struct {
		text  string
		value float64
	}
	stale, fresh := map[place]string{}, map[place]bool{}
	before := textsAsIf(t, store, f, func(any) {})
	for _, path := range numbers(kind, nil) {
		values := map[float64]bool{}
		after := textsAsIf(t, store, f, func(params any) {
			if v := reflect.ValueOf(params).Elem(); v.Type() == kind {
				multiply(v.FieldByIndex(path), values)
			}
		})
		for text, sort := range before {
			for _, v := range typed(text, sort == stated) {
				if _, stays := after[text]; values[v] && !stays {
					fresh[place{text, v}] = true
				} else if values[v] && !values[v/factor] {
					stale[place{text, v}] = kind.FieldByIndex(path).Name
				}
			}
		}
	}
	for at, name := range stale {
		if !fresh[at] && !chance.MatchString(at.text) {
			t.Errorf("%s is no longer %g, but that still is in %q", name, at.value, at.text)
		}
	}
}

// chance matches texts with a number that a parameter has by chance.
var chance = regexp.MustCompile(strings.Join([]string{
	`^edited parameters: n = 8$`,                     // 2N, where a distance is 8 too
	`^edited parameters: \d+ orders$`,                // how many, and one of them
	`^edited parameters: networks of 4 × `,           // widths
	`^t = 1$`,                                        // a column
	`α = 2 its line is three times too low`,          // of published code
	`amounts of the 10 targets`,                      // a constant
	`where chance is 10 %`,                           // ten classes
	`at ε = 10 (by an accounting that is )?not just`, // the paper's
	`mean of p = 1, relative`,                        // the unbiased loss
	`table's row of p = 0.4`,                         // the paper's
	`an audit of one step with σ = 1.5`,              // of a test
	`a hundred steps of ε = 0.1`,                     // of chains
	`^K = 1: (the )?largest`,                         // a law of single records
	`t = 1000, where the paper`,
	`50 of 60,000 images|δ = 1/\(N log N\)|Tables 5 and 6 of the paper`,
	`β = 1`,                           // of the paper's code
	`% own$|of pairs at random it is`, // results, by the stored λ
}, "|"))

// The sorts of texts.
const (
	other  = iota
	stated // captions and badges
)

// numbers lists the numeric fields of a struct and of the structs in it.
func numbers(t reflect.Type, at []int) (paths [][]int) {
	for i := range t.NumField() {
		path := append(slices.Clone(at), i)
		switch k := t.Field(i).Type; {
		case k.Kind() == reflect.Struct:
			paths = append(paths, numbers(k, path)...)
		case isNumber(k) || k.Kind() == reflect.Slice && isNumber(k.Elem()):
			paths = append(paths, path)
		}
	}
	return paths
}

func isNumber(t reflect.Type) bool {
	return t == reflect.TypeFor[float64]() || t == reflect.TypeFor[int]()
}

// factor is large and prime, so that the values of an axis seldom become each other's.
const factor = 7

// multiply multiplies a number, or those of a new list, by factor, and notes what they were.
func multiply(v reflect.Value, values map[float64]bool) {
	switch v.Kind() {
	case reflect.Float64:
		values[v.Float()] = true
		v.SetFloat(factor * v.Float())
	case reflect.Int:
		values[float64(v.Int())] = true
		v.SetInt(factor * v.Int())
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			multiply(list.Index(i), values)
		}
		v.Set(list)
	}
}

var (
	// number is a number in a text, not an index or exponent, and not part of a name as in L2 or
	// 2-norm.
	number = regexp.MustCompile(`(?:^|[^\pL\d^_.{−-])(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:$|[^\pL\d-])`)
	// assigned is a number alone after an equals sign.
	assigned = regexp.MustCompile(`[\pL_}] = (\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:$|[^\pL\d\s-]|\s[^−+·/×(])`)
)

// typed returns the numbers of a text that are assigned, and if all is set the others but 0, 1 and 2.
func typed(text string, all bool) (out []float64) {
	parse := func(s string) float64 {
		v, _ := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(s, ","), ",", ""), 64)
		return v
	}
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		out = append(out, parse(m[1]))
	}
	for _, word := range strings.Fields(text) {
		if m := number.FindStringSubmatch(word); all && m != nil && !slices.Contains([]float64{0, 1, 2}, parse(m[1])) {
			out = append(out, parse(m[1]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// textsAsIf returns the texts of a figure drawn as if change had made its parameters, but for the
// rows of its tables.
func textsAsIf(t *testing.T, st *store.Store, f lab.Figure, change func(params any)) map[string]int {
	t.Helper()
	out := map[string]int{}
	defer func() {
		if r := recover(); r != nil {
			t.Logf("results and parameters do not fit each other: %v", r) // such as the sides of a picture
		}
	}()
	exhibit, claims, err := f.AsIf(st, Setting, change)
	if errors.Is(err, store.ErrMissing) {
		return out // it names the cell that it needs
	}
	if err != nil {
		t.Fatal(err)
	}
	out[f.Title] = other
	for i := range exhibit.Tables {
		exhibit.Tables[i].Rows = nil
	}
	collect(reflect.ValueOf(exhibit), other, out)
	for _, c := range claims {
		out[c.What] = other
	}
	return out
}

// collect adds the strings that are reached from v.
func collect(v reflect.Value, sort int, out map[string]int) {
	switch v.Kind() {
	case reflect.String:
		out[v.String()] = max(sort, out[v.String()])
	case reflect.Struct:
		for i := range v.NumField() {
			of := other
			if name := v.Type().Field(i).Name; name == "Caption" || name == "Badge" {
				of = stated
			}
			collect(v.Field(i), of, out)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			collect(v.Index(i), sort, out)
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			collect(v.Elem(), sort, out)
		}
	}
}
