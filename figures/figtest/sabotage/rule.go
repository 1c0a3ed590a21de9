package sabotage

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A rule is a line of faults.txt that spoils cells of an experiment.
type rule struct {
	experiment *regexp.Regexp
	conditions [][]string // path, operator, value
	actions    [][]string // path, operator, value
}

var (
	phrase = regexp.MustCompile(`^((?:[^\[]|\[[^\]]*\])+?) ([=*^~>]) (.+)$`)
	step   = regexp.MustCompile(`(\w+)(\[[^\]]*\])?`)
)

func newRule(head, rest string) (r rule, err error) {
	experiment, conditions, _ := strings.Cut(head, " if ")
	if r.experiment, err = regexp.Compile("^" + experiment + "$"); err != nil {
		return r, err
	}
	split := func(text, by string) (out [][]string) {
		for _, part := range strings.Split(text, by) {
			if m := phrase.FindStringSubmatch(part); m != nil {
				out = append(out, m[1:])
			} else if part != "" {
				err = fmt.Errorf("%q: want PATH, an operator and a value", part)
			}
		}
		return out
	}
	r.conditions, r.actions = split(conditions, ", "), split(rest, "; ")
	return r, err
}

// apply spoils the cells, and reports whether that changed any.
func (r rule) apply(experiment string, params, values []any) (touched bool) {
	if !r.experiment.MatchString(experiment) {
		return false
	}
	for i, value := range values {
		v := reflect.ValueOf(value).Elem()
		before := fmt.Sprint(v)
		if !slices.ContainsFunc(r.conditions, func(c []string) bool { return !meets(params[i], c) }) {
			for _, a := range r.actions {
				walk(v, a[0], nil, func(at reflect.Value, around []reflect.Value) {
					act(at, around, a, i, params, values)
				})
			}
		}
		touched = touched || fmt.Sprint(v) != before
	}
	return touched
}

func meets(params any, condition []string) (ok bool) {
	walk(reflect.ValueOf(params), condition[0], nil, func(at reflect.Value, _ []reflect.Value) {
		if condition[1] == ">" {
			least, _ := strconv.ParseFloat(condition[2], 64)
			ok = number(at) > least
		} else {
			ok = regexp.MustCompile("^(" + condition[2] + ")$").MatchString(fmt.Sprint(at))
		}
	})
	return ok
}

func number(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

// walk calls do with all that a path leads to, and with what it is in, the innermost last.
func walk(v reflect.Value, path string, around []reflect.Value, do func(at reflect.Value, around []reflect.Value)) {
	m := step.FindStringSubmatchIndex(path)
	if m == nil {
		do(v, around)
		return
	}
	name, selector, rest := path[m[2]:m[3]], "", path[m[1]:]
	if m[4] >= 0 {
		selector = path[m[4]+1 : m[5]-1]
	}
	around = append(slices.Clone(around), v)
	switch v.Kind() {
	case reflect.Map:
		if old := v.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			item := reflect.New(old.Type()).Elem()
			item.Set(old)
			walk(item, rest, around, do)
			v.SetMapIndex(reflect.ValueOf(name), item)
		}
	case reflect.Struct:
		fields := reflect.VisibleFields(v.Type())
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return tag(f) == name })
		switch {
		case i < 0:
		case m[4] < 0:
			walk(v.Field(i), rest, around, do)
		default:
			for k := range v.Field(i).Len() {
				if item := v.Field(i).Index(k); selector == "" || selector == strconv.Itoa(k) || named(item, selector) {
					walk(item, rest, around, do)
				}
			}
		}
	}
}

func tag(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// title is the field by which an item of a list is known.
func title(item reflect.Value) (out reflect.Value) {
	for _, f := range []string{"Name", "Solver", "Method"} {
		if item.Kind() == reflect.Struct && item.FieldByName(f).IsValid() {
			return item.FieldByName(f)
		}
	}
	return out
}

func named(item reflect.Value, pattern string) bool {
	t := title(item)
	return t.IsValid() && regexp.MustCompile("^("+pattern+")$").MatchString(t.String())
}

// act does an action to what its path leads to in cell i.
func act(at reflect.Value, around []reflect.Value, action []string, i int, params, values []any) {
	op, value := action[1], action[2]
	if text, err := strconv.Unquote(value); err == nil {
		at.SetString(text)
		return
	}
	to, divisor := 0., 1.
	if op == "~" {
		value, divisor = value[:strings.Index(value, " / ")], atof(value[strings.Index(value, " / ")+3:])
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil {
		to = f
	} else {
		source := find(append(slices.Clone(around), at), value, i, params, values)
		if !source.IsValid() {
			return
		}
		if source.Type() == at.Type() && op == "=" {
			known := title(at)
			if known.IsValid() && len(around) > 0 {
				name := known.String()
				defer func() { known.SetString(name) }()
			}
			at.Set(source)
			return
		}
		to = number(source)
	}
	each(at, func(x float64) float64 {
		switch op {
		case "*":
			return x * to
		case "^":
			return math.Pow(x, to)
		case "~":
			return to + (x-to)/divisor
		}
		return to
	})
}

func atof(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// find returns what a second path leads to, around what the first led to or in the cell after @; invalid where there is
// none.
func find(around []reflect.Value, path string, i int, params, values []any) (out reflect.Value) {
	path, cell, other := strings.Cut(path, " @ ")
	if other {
		m := regexp.MustCompile(`^(.+)([=*])(.+)$`).FindStringSubmatch(cell)
		want := reflect.New(reflect.TypeOf(params[i])).Elem()
		want.Set(reflect.ValueOf(params[i]))
		walk(want, m[1], nil, func(at reflect.Value, _ []reflect.Value) {
			if at.Kind() == reflect.String {
				at.SetString(m[3])
				return
			}
			each(at, func(x float64) float64 { return map[string]float64{"=": atof(m[3]), "*": x * atof(m[3])}[m[2]] })
		})
		k := slices.IndexFunc(params, func(p any) bool { return reflect.DeepEqual(p, want.Interface()) })
		if k < 0 {
			return out
		}
		around = []reflect.Value{reflect.ValueOf(values[k]).Elem()}
	}
	for k := len(around) - 1; k >= 0 && !out.IsValid(); k-- {
		walk(around[k], path, nil, func(at reflect.Value, _ []reflect.Value) { out = at })
	}
	return out
}

// each changes all numbers of what was measured. A λ in a result says which it is.
func each(v reflect.Value, change func(float64) float64) {
	switch v.Kind() {
	case reflect.Float64:
		if !math.IsNaN(v.Float()) {
			v.SetFloat(change(v.Float()))
		}
	case reflect.Int:
		v.SetInt(int64(change(float64(v.Int()))))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Type.Kind() != reflect.Int && tag(f) != "lambda" {
				each(v.Field(i), change)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			each(v.Index(i), change)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(k))
			each(item, change)
			v.SetMapIndex(k, item)
		}
	}
}
