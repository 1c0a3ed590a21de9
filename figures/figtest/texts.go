package figtest

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coupling/lab"
)

// Texts doubles each numeric parameter of a computed figure's own cells, draws it again from the same results, and fails
// where a text (a caption, a badge, a label, a note, a law) still gives the old value: in "σ = 1", or anywhere in a caption
// or badge if the value is not 1 or 2, which captions have for many reasons. Of "PARAMETER: TEXT", those that a pattern of
// except matches have the number for another reason.
func Texts(t *testing.T, store *lab.Store, f lab.Figure, except ...string) {
	t.Helper()
	kind := reflect.TypeOf(f.Grid(Setting)).Elem()
	before := textsAsIf(t, store, f, func(any) {})
	for _, path := range numbers(kind, nil) {
		values := map[float64]bool{}
		after := textsAsIf(t, store, f, func(params any) {
			if v := reflect.ValueOf(params).Elem(); v.Type() == kind {
				double(v.FieldByIndex(path), values)
			}
		})
		for text, sort := range before {
			at := fmt.Sprintf("%s: %s", kind.FieldByIndex(path).Name, text)
			_, stays := after[text]
			for _, v := range typed(text, sort == stated) {
				if stays && values[v] && !values[v/2] &&
					!slices.ContainsFunc(except, func(e string) bool { return regexp.MustCompile(e).MatchString(at) }) {
					t.Errorf("the parameter is doubled, but %g still is in the text %s", v, at)
				}
			}
		}
	}
}

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

func isNumber(t reflect.Type) bool { return t.Kind() == reflect.Float64 || t.Kind() == reflect.Int }

// double doubles a number, or those of a new list, and notes what they were.
func double(v reflect.Value, values map[float64]bool) {
	switch v.Kind() {
	case reflect.Float64:
		values[v.Float()] = true
		v.SetFloat(2 * v.Float())
	case reflect.Int:
		values[float64(v.Int())] = true
		v.SetInt(2 * v.Int())
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		for i := range list.Len() {
			double(list.Index(i), values)
		}
		v.Set(list)
	}
}

var (
	// number is a number in a text, not an index or exponent, and not part of a name as in L2 or 2-norm.
	number = regexp.MustCompile(`(?:^|[^\pL\d^_.{−-])(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:$|[^\pL\d-])`)
	// assigned is a number after an equals sign, without such a sign before it as in 1 = 2 = 3.
	assigned = regexp.MustCompile(`[\pL_}] = (\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:$|[^\pL\d-])`)
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

// textsAsIf returns the texts of a figure drawn as if change had made its parameters, but for the rows of its tables.
func textsAsIf(t *testing.T, store *lab.Store, f lab.Figure, change func(params any)) map[string]int {
	t.Helper()
	exhibit, claims, err := f.AsIf(store, Setting, change)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
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
