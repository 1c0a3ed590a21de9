package sweepfile

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coupling/lab"
	"coupling/lab/store"

	"go.yaml.in/yaml/v3"
)

// An Error is an error in a file, with its line.
type Error struct {
	File string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the error without the line.
func (e *Error) Unwrap() error { return e.Err }

// fail ends [Parse] with an error at a line, to which [located] adds the file. All that reads nodes ends so.
func fail(line int, format string, args ...any) {
	lab.Check(&Error{Line: line, Err: fmt.Errorf(format, args...)})
}

var yamlLine = regexp.MustCompile(`(?s)line (\d+): (.*)`)

// located adds the file to an error, and gives those of the YAML library the form of the others.
func located(file string, err error) error {
	own := &Error{}
	if !errors.As(err, &own) {
		line, text := reason(err)
		own = &Error{Line: line, Err: errors.New(text)}
	}
	return &Error{file, max(own.Line, 1), own.Err}
}

// reason takes an error of the YAML library apart.
func reason(err error) (line int, text string) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 1, strings.TrimPrefix(err.Error(), "yaml: ")
	}
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}

// entries yields the keys and values of a mapping. The library refuses a key that is there twice.
func entries(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	lab.Check(n.Decode(&map[string]yaml.Node{}))
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content) && yield(n.Content[i], n.Content[i+1]); i += 2 {
		}
	}
}

// fields reads a mapping into the struct that to points to, whose fields have the names of keys in
// capitals. It refuses other keys and, unlike the library, a fraction for an int, and returns the
// lines of the keys.
func fields(n *yaml.Node, to any, what string) (lines map[string]int) {
	v, known := reflect.ValueOf(to).Elem(), map[string]reflect.StructField{}
	var names []string
	for f := range v.Type().Fields() {
		if f.IsExported() {
			names = append(names, strings.ToLower(f.Name))
			known[strings.ToLower(f.Name)] = f
		}
	}
	lines = map[string]int{}
	for key, value := range entries(n) {
		name := key.Value
		f, ok := known[name]
		if !ok {
			fail(key.Line, "%s: unknown key %q%s", what, name, store.DidYouMean(name, names))
		}
		lines[name] = key.Line
		if f.Type.Kind() == reflect.Int && value.ShortTag() != "!!int" {
			fail(key.Line, "%s: want a whole number, have %s", name, value.Value)
		}
		if err := value.Decode(v.FieldByIndex(f.Index).Addr().Interface()); err != nil {
			line, text := reason(err)
			fail(line, "%s: %s", name, text)
		}
	}
	return lines
}

// plain is a node as a JSON value. NaN and the infinities are written as the store does.
func plain(n *yaml.Node) any {
	var v any
	lab.Check(n.Decode(&v))
	return jsonValue(n.Line, v)
}

func jsonValue(line int, v any) any {
	switch v := v.(type) {
	case nil, time.Time, map[any]any, []byte:
		fail(line, "%T is no parameter: want a number, text in quotes, true, false, a list, or a mapping with names", v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strings.Replace(fmt.Sprintf("%+v", v), "+NaN", "NaN", 1)
		}
	case []any:
		for i := range v {
			v[i] = jsonValue(line, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = jsonValue(line, v[k])
		}
	}
	return v
}
