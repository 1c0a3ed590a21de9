package lab

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A Checker is a parameter type that knows which of its values make sense. Check
// returns an error that names the parameter and its value; the cell is then
// neither computed nor recalled. Bounds of one number are tags: N int
// `json:"n" min:"1" doc:"points of each side"`.
type Checker interface{ Check() error }

// A ParamError is a parameter whose value an experiment refuses.
type ParamError struct {
	Experiment string
	Param      string // dots go into objects; empty if it is not one of them alone
	Err        error
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("lab: parameters of %s: %v", e.Experiment, e.Err)
}

// Unwrap returns the fault.
func (e *ParamError) Unwrap() error { return e.Err }

// checkParams looks at the bounds of p's fields and asks its Check.
func checkParams(experiment string, p any) error {
	for _, f := range Params(reflect.TypeOf(p)) {
		if err := f.check(reflect.ValueOf(p).FieldByIndex(f.index)); err != nil {
			return &ParamError{experiment, f.Name, err}
		}
	}
	if c, ok := p.(Checker); ok {
		if err := c.Check(); err != nil {
			name, _, _ := strings.Cut(err.Error(), " ")
			return &ParamError{experiment, name, err}
		}
	}
	return nil
}

// A Param is one parameter of an experiment.
type Param struct {
	Name     string // dots go into objects
	Type     string // of Go
	Min, Max string // bounds; empty: none
	Doc      string

	index []int
}

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
			out = append(out, Param{name, f.Type.String(), f.Tag.Get("min"), f.Tag.Get("max"), f.Tag.Get("doc"), f.Index})
		}
	}
	return out
}

// Range is "≥ 1", "0 … 1", or empty.
func (p Param) Range() string {
	switch {
	case p.Min != "" && p.Max != "":
		return p.Min + " … " + p.Max
	case p.Min != "":
		return "≥ " + p.Min
	case p.Max != "":
		return "≤ " + p.Max
	}
	return ""
}

func (p Param) check(v reflect.Value) error {
	if p.Min == "" && p.Max == "" {
		return nil
	}
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	default:
		return fmt.Errorf("%s: bounds are for numbers, and it is a %s", p.Name, p.Type)
	}
	low, err1 := bound(p.Min, x)
	high, err2 := bound(p.Max, x)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%s: bound: %w", p.Name, err)
	}
	if x >= low && x <= high {
		return nil
	}
	return fmt.Errorf("%s %v: must be %s", p.Name, v.Interface(), p.Range())
}

func bound(tag string, none float64) (float64, error) {
	if tag == "" {
		return none, nil
	}
	return strconv.ParseFloat(tag, 64)
}
