package scripts

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"coupling/lab"
)

// maxCells is the longest grid that a program spells cell by cell.
const maxCells = 14

// A speller writes parameters as Go source and notes what must be imported.
type speller struct {
	imports map[string]bool
	other   reflect.Value // the grid on other data
}

// refuse ends attempt: another package cannot write down a value of type t.
func refuse(t reflect.Type) { lab.Check(fmt.Errorf("%v cannot be spelled", t)) }

// typeName returns the name of t as seen from another package.
func (s *speller) typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Slice:
		return "[]" + s.typeName(t.Elem())
	case t.Name() == "" || t.PkgPath() != "" && !exported(t.Name()):
		refuse(t)
	case t.PkgPath() == "":
		return t.Name()
	}
	s.imports[t.PkgPath()] = true
	return path.Base(t.PkgPath()) + "." + t.Name()
}

func exported(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' }

// value returns v as a Go expression; elided leaves out the type of a composite
// literal, as within a slice.
func (s *speller) value(v reflect.Value, elided bool) string {
	switch v.Kind() {
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			if f := v.Type().Field(i); !v.Field(i).IsZero() {
				if !f.IsExported() {
					refuse(v.Type())
				}
				fields = append(fields, f.Name+": "+s.value(v.Field(i), false))
			}
		}
		return s.prefix(v.Type(), elided) + "{" + strings.Join(fields, ", ") + "}"
	case reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, s.value(v.Index(i), true))
		}
		return s.prefix(v.Type(), elided) + "{" + strings.Join(items, ", ") + "}"
	case reflect.String:
		return strconv.Quote(v.String())
	case reflect.Float64, reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64, reflect.Int32:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint64, reflect.Uint8:
		return strconv.FormatUint(v.Uint(), 10)
	}
	refuse(v.Type())
	return ""
}

func (s *speller) prefix(t reflect.Type, elided bool) string {
	if elided {
		return ""
	}
	return s.typeName(t)
}

// grid returns statements that set study.Grid to cells, a []P: one by one, as a
// product of axes, or, where the grid is neither short nor a product, as the
// study's own grid with the fields that all cells share set again. What differs in
// other, the grid on another machine's data, stays the study's own.
func grid(cells, other any) (code string, imports []string) {
	v := reflect.ValueOf(cells)
	forms := []func(*speller, reflect.Value) string{(*speller).listed, (*speller).product, (*speller).edited}
	if !reflect.DeepEqual(cells, other) {
		forms = forms[2:]
	}
	for _, form := range forms {
		s := &speller{imports: map[string]bool{}, other: reflect.ValueOf(other)}
		if code := s.attempt(form, v); code != "" {
			for name := range s.imports {
				imports = append(imports, name)
			}
			slices.Sort(imports)
			return code, imports
		}
	}
	return "", nil
}

// attempt returns what form writes, or nothing if a value cannot be spelled.
func (s *speller) attempt(form func(*speller, reflect.Value) string, v reflect.Value) (code string) {
	var refused error
	defer lab.End(&refused)
	return form(s, v)
}

func (s *speller) listed(v reflect.Value) string {
	if v.Len() > maxCells {
		return ""
	}
	var lines []string
	for i := range v.Len() {
		lines = append(lines, s.value(v.Index(i), true)+",")
		if len(lines[i]) > 400 {
			return ""
		}
	}
	return fmt.Sprintf("study.Grid = func(lab.Setting) %s {\nreturn %s{\n%s\n}\n}", s.typeName(v.Type()),
		s.typeName(v.Type()), strings.Join(lines, "\n"))
}

// product recognises a grid that [lab.Grid] makes of the fields that differ.
func (s *speller) product(v reflect.Value) string {
	base, axes := s.axes(v)
	count := 1
	for _, a := range axes {
		count *= len(a.values)
	}
	if count != v.Len() || len(axes) == 0 {
		return ""
	}
	p := s.typeName(v.Type().Elem())
	var lines []string
	for _, a := range axes {
		var values []string
		for _, x := range a.values {
			values = append(values, s.value(x, false))
		}
		field := v.Type().Elem().Field(a.field)
		lines = append(lines, fmt.Sprintf("lab.Vary(func(p *%s, v %s) { p.%s = v }, %s),", p, s.typeName(field.Type),
			field.Name, strings.Join(values, ", ")))
		if len(lines[len(lines)-1]) > 600 {
			return ""
		}
	}
	return fmt.Sprintf("study.Grid = func(lab.Setting) []%s {\nreturn lab.Grid(%s,\n%s\n)\n}", p,
		s.value(base, false), strings.Join(lines, "\n"))
}

// An axis is a field that differs between cells, with its values.
type axis struct {
	field  int
	values []reflect.Value
}

// axes returns the cell with the differing fields empty, and those fields with
// the one that changes slowest first. Cells in another order than [lab.Grid]'s give none.
func (s *speller) axes(v reflect.Value) (base reflect.Value, axes []axis) {
	base = reflect.New(v.Type().Elem()).Elem()
	base.Set(v.Index(0))
	for f := range base.NumField() {
		a := axis{field: f}
		for i := range v.Len() {
			x := v.Index(i).Field(f)
			if !slices.ContainsFunc(a.values, func(y reflect.Value) bool {
				return reflect.DeepEqual(x.Interface(), y.Interface())
			}) {
				a.values = append(a.values, x)
			}
		}
		if len(a.values) > 1 {
			axes = append(axes, a)
			base.Field(f).SetZero()
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return changeAt(v, b.field) - changeAt(v, a.field) })
	for i := range v.Len() {
		stride := v.Len()
		for _, a := range axes {
			if stride /= len(a.values); stride == 0 ||
				!reflect.DeepEqual(v.Index(i).Field(a.field).Interface(),
					a.values[i/stride%len(a.values)].Interface()) {
				return base, nil
			}
		}
	}
	return base, axes
}

// changeAt returns the first cell whose field differs from the first cell's.
func changeAt(v reflect.Value, field int) int {
	for i := range v.Len() {
		if !reflect.DeepEqual(v.Index(i).Field(field).Interface(), v.Index(0).Field(field).Interface()) {
			return i
		}
	}
	return v.Len()
}

// onData reports whether a field depends on the data of the machine.
func (s *speller) onData(v reflect.Value, field int) bool {
	return s.other.Len() != v.Len() ||
		!reflect.DeepEqual(v.Index(0).Field(field).Interface(), s.other.Index(0).Field(field).Interface())
}

// edited sets the scalar fields that all cells share.
func (s *speller) edited(v reflect.Value) string {
	base, _ := s.axes(v)
	p := s.typeName(v.Type().Elem())
	var lines []string
	for f := range base.NumField() {
		field := base.Type().Field(f)
		if changeAt(v, f) < v.Len() || s.onData(v, f) || !field.IsExported() ||
			field.Type.Kind() == reflect.Struct || field.Type.Kind() == reflect.Slice {
			continue
		}
		lines = append(lines, fmt.Sprintf("cells[i].%s = %s", field.Name, s.value(v.Index(0).Field(f), false)))
	}
	if len(lines) == 0 {
		return ""
	}
	lines = lines[:min(len(lines), 12)] // the others are a selector away
	return fmt.Sprintf("grid := study.Grid\nstudy.Grid = func(set lab.Setting) []%s {\ncells := grid(set)\n"+
		"for i := range cells {\n%s\n}\nreturn cells\n}", p, strings.Join(lines, "\n"))
}
