package store

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// A Checker is a parameter type that checks its values. Check returns an error that names the
// parameter and its value; the cell is then neither computed nor recalled. Bounds of one number are
// tags: N int `json:"n" min:"1" doc:"points of each side"`.
type Checker interface{ Check() error }

// A ParamError reports a parameter whose value an experiment refuses.
type ParamError struct {
	Experiment string
	Param      string // with dots for nested objects; empty if several parameters are at fault
	Err        error
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("lab: parameters of %s: %v", e.Experiment, e.Err)
}

// Unwrap returns the fault.
func (e *ParamError) Unwrap() error { return e.Err }

// checkParams checks the bounds of p's fields and calls its Check.
func (f *family) checkParams(p any) error {
	for _, param := range f.bounded {
		if err := param.Check(param.Of(reflect.ValueOf(p))); err != nil {
			return &ParamError{f.id.Experiment, param.Name, err}
		}
	}
	if c, ok := p.(Checker); ok {
		if err := c.Check(); err != nil {
			name, _, _ := strings.Cut(err.Error(), " ")
			return &ParamError{f.id.Experiment, name, err}
		}
	}
	return nil
}

// A Param is one parameter of an experiment.
type Param struct {
	Name     string // with dots for nested objects
	Type     string // of Go
	Min, Max string // bounds, "1" or ">0" and "<1"; empty: none
	Enum     string // allowed words, separated by commas; empty: all
	Doc      string

	index []int
}

// Of returns the parameter in a struct of the type that Params listed.
func (p Param) Of(params reflect.Value) reflect.Value { return params.FieldByIndex(p.index) }

// Params lists the parameters of a struct type.
func Params(t reflect.Type) (out []Param) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		inner := Params(f.Type)
		for _, p := range inner {
			if !f.Anonymous {
				p.Name = name + "." + p.Name
			}
			p.index = append([]int{f.Index[0]}, p.index...)
			out = append(out, p)
		}
		if len(inner) == 0 {
			tag := f.Tag.Get
			out = append(out, Param{name, f.Type.String(), tag("min"), tag("max"), tag("enum"), tag("doc"), f.Index})
		}
	}
	return out
}

// Range returns the range that the tags allow, "≥ 1", "> 0 and ≤ 1" or "a, b or c"; empty: anything.
func (p Param) Range() string {
	var parts []string
	for _, b := range []struct{ tag, strict, sign string }{{p.Min, ">", "≥ "}, {p.Max, "<", "≤ "}} {
		if n, strict := strings.CutPrefix(b.tag, b.strict); strict {
			parts = append(parts, b.strict+" "+n)
		} else if n != "" {
			parts = append(parts, b.sign+n)
		}
	}
	if p.Enum != "" {
		words := strings.Split(p.Enum, ",")
		if words[0] == "" {
			words[0] = `""`
		}
		parts = append(parts, orList(words))
	}
	return strings.Join(parts, " and ")
}

// Check returns an error if v, or an entry, is outside the tags' range, or v is an empty list.
func (p Param) Check(v reflect.Value) error {
	if p.Min+p.Max+p.Enum == "" {
		return nil
	}
	if k := v.Kind(); k == reflect.Slice || k == reflect.Array {
		if v.Len() == 0 {
			return fmt.Errorf("%s []: must have an entry", p.Name)
		}
		for i := range v.Len() {
			if err := p.Check(v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	if p.Enum != "" && !slices.Contains(strings.Split(p.Enum, ","), fmt.Sprint(v.Interface())) {
		return fmt.Errorf("%s %q: must be %s", p.Name, fmt.Sprint(v.Interface()), p.Range())
	}
	if p.Min+p.Max == "" {
		return nil
	}
	if !v.CanConvert(reflect.TypeFor[float64]()) {
		return fmt.Errorf("%s: bounds are for numbers, and it is a %s", p.Name, p.Type)
	}
	x := v.Convert(reflect.TypeFor[float64]()).Float()
	low, err1 := within(p.Min, ">", x, 1)
	high, err2 := within(p.Max, "<", x, -1)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%s: bound: %w", p.Name, err)
	}
	if low && high {
		return nil
	}
	return fmt.Errorf("%s %v: must be %s", p.Name, v.Interface(), p.Range())
}

// within reports whether x is on the side of the bound in tag that sign selects. The bound itself
// counts, unless tag begins with strict.
func within(tag, strict string, x, sign float64) (bool, error) {
	if tag == "" {
		return true, nil
	}
	number, open := strings.CutPrefix(tag, strict)
	bound, err := strconv.ParseFloat(number, 64)
	return sign*x > sign*bound || x == bound && !open, err
}

// DidYouMean returns "; did you mean a, b or c?", to end a message with: at most three names of
// known, nearest first, that differ from name in at most a third of its letters, rounded up. A path
// may be matched by its last word, at the price of one letter: "rate" is near "scones/rate". If no
// name is so near, up to six known ones are listed instead, "; want a, b or c"; more give "".
func DidYouMean(name string, known []string) string {
	name = strings.ToLower(name)
	distance := func(k string) int {
		k = strings.ToLower(k)
		return min(levenshtein.ComputeDistance(name, k), 1+levenshtein.ComputeDistance(name, path.Base(k)))
	}
	near := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return distance(k) > (len([]rune(name))+2)/3 })
	slices.SortFunc(near, func(a, b string) int { return cmp.Or(distance(a)-distance(b), cmp.Compare(a, b)) })
	switch {
	case len(near) > 0:
		return "; did you mean " + orList(near[:min(3, len(near))]) + "?"
	case len(known) == 0 || len(known) > 6:
		return ""
	}
	return "; want " + orList(known)
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
