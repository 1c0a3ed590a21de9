package sweepfile

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

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

// errorf is an error at a line; [located] adds the file.
func errorf(line int, format string, args ...any) error {
	return &Error{Line: line, Err: fmt.Errorf(format, args...)}
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

// entries returns the keys and values of a mapping by turns. The library refuses a key that is there twice.
func entries(n *yaml.Node) ([]*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n.Content, n.Decode(&map[string]yaml.Node{})
}

// fields reads a mapping into the struct that to points to, whose fields have the names of keys in
// capitals. It refuses other keys and, unlike the library, a fraction for an int, and returns the
// lines of the keys.
func fields(n *yaml.Node, to any, what string) (lines map[string]int, err error) {
	v, known := reflect.ValueOf(to).Elem(), map[string]reflect.StructField{}
	var names []string
	for f := range v.Type().Fields() {
		if f.IsExported() {
			names = append(names, strings.ToLower(f.Name))
			known[strings.ToLower(f.Name)] = f
		}
	}
	lines = map[string]int{}
	content, err := entries(n)
	for i := 0; i+1 < len(content) && err == nil; i += 2 {
		name, line, value := content[i].Value, content[i].Line, content[i+1]
		f, ok := known[name]
		if !ok {
			return nil, errorf(line, "%s: unknown key %q%s", what, name, store.DidYouMean(name, names))
		}
		lines[name] = line
		if f.Type.Kind() == reflect.Int && value.ShortTag() != "!!int" {
			return nil, errorf(line, "%s: want a whole number, have %s", name, value.Value)
		}
		if err := value.Decode(v.FieldByIndex(f.Index).Addr().Interface()); errors.As(err, new(*Error)) {
			return nil, err
		} else if err != nil {
			line, text := reason(err)
			return nil, errorf(line, "%s: %s", name, text)
		}
	}
	return lines, err
}

// plain is a node as a JSON value. NaN and the infinities are written as the store does.
func plain(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	return jsonValue(n.Line, v)
}

func jsonValue(line int, v any) (_ any, err error) {
	switch v := v.(type) {
	case nil, time.Time, map[any]any, []byte:
		return nil, errorf(line,
			"%T is no parameter: want a number, text in quotes, true, false, a list, or a mapping with names", v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strings.Replace(fmt.Sprintf("%+v", v), "+NaN", "NaN", 1), nil
		}
	case []any:
		for i := range v {
			if v[i], err = jsonValue(line, v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = jsonValue(line, v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
