package sweepfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"coupling/lab"

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

// node is a part of the file that knows its line.
type node struct {
	*yaml.Node
	file string
}

func (n node) line() int {
	if n.Node == nil {
		return 1
	}
	return max(1, n.Line)
}

func (n node) errorf(format string, args ...any) error {
	return &Error{n.file, n.line(), fmt.Errorf(format, args...)}
}

// parse returns the only document of a file.
func parse(file string, b []byte) (node, error) {
	var doc, more yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(b))
	err := in.Decode(&doc)
	if err == nil {
		if err = in.Decode(&more); err == nil {
			return node{}, &Error{file, more.Line, errors.New("a second document: want one")}
		}
	} else if errors.Is(err, io.EOF) {
		return node{}, &Error{file, 1, errors.New("the file is empty")}
	}
	if !errors.Is(err, io.EOF) {
		line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
		_, _ = fmt.Sscanf(text, "line %d:", &line) // if it is known
		return node{}, &Error{file, line, errors.New(text)}
	}
	return node{doc.Content[0], file}, nil
}

// The kinds of nodes, as a person would call them.
const (
	aList, aMapping, text, number, whole, truth = "a list", "a mapping", "text", "a number", "a whole number", "true or false"
)

var kinds = map[string]string{
	"!!str": text, "!!timestamp": text, "!!int": whole, "!!float": number, "!!bool": truth, "!!null": "nothing",
}

func (n node) kind() string {
	switch {
	case n.Node == nil:
		return "nothing"
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return "an anchor"
	case n.Kind == yaml.SequenceNode:
		return aList
	case n.Kind == yaml.MappingNode:
		return aMapping
	}
	if kind, ok := kinds[n.ShortTag()]; ok {
		return kind
	}
	return "a tag"
}

// member is one entry of a mapping.
type member struct {
	name       string
	key, value node
}

// members returns the entries of a mapping in their order.
func (n node) members(what string) (out []member, err error) {
	if n.kind() != aMapping {
		return nil, n.errorf("%s: want a mapping, have %s", what, n.kind())
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := node{n.Content[i], n.file}
		if key.kind() != text {
			return nil, key.errorf("%s: key %s: want a plain name", what, key.Value)
		}
		if slices.ContainsFunc(out, func(m member) bool { return m.name == key.Value }) {
			return nil, key.errorf("%s: %q is there twice", what, key.Value)
		}
		out = append(out, member{key.Value, key, node{n.Content[i+1], n.file}})
	}
	return out, nil
}

// at returns the value of a key; the mapping itself if it has none.
func (n node) at(key string) node {
	ms, _ := n.members("")
	if i := slices.IndexFunc(ms, func(m member) bool { return m.name == key }); i >= 0 {
		return ms[i].value
	}
	return n
}

// A decoder is a type with its own way of reading a node.
type decoder interface {
	decode(n node, what string) error
}

// read decodes n into what to points to: a struct, whose fields have the names of keys in capitals;
// a slice; text, a number or a truth value; a [decoder]. Unlike with the YAML library, each error
// has its line, and values are not converted.
func (n node) read(to any, what string) error {
	if d, ok := to.(decoder); ok {
		return d.decode(n, what)
	}
	switch v := reflect.ValueOf(to).Elem(); v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return n.read(v.Interface(), what)
	case reflect.Struct:
		return n.fields(v, what)
	case reflect.Slice:
		if n.kind() != aList {
			return n.errorf("%s: want a list, have %s", what, n.kind())
		}
		for _, item := range n.Content {
			entry := reflect.New(v.Type().Elem())
			if err := (node{item, n.file}).read(entry.Interface(), what); err != nil {
				return err
			}
			v.Set(reflect.Append(v, entry.Elem()))
		}
		return nil
	default:
		return n.scalar(v, what)
	}
}

// fields reads the entries of a mapping, and refuses those that the struct has not.
// A tag min bounds a number.
func (n node) fields(to reflect.Value, what string) error {
	ms, err := n.members(what)
	if err != nil {
		return err
	}
	known := map[string]reflect.StructField{}
	var names []string
	for f := range to.Type().Fields() {
		if f.IsExported() {
			names = append(names, strings.ToLower(f.Name))
			known[strings.ToLower(f.Name)] = f
		}
	}
	for _, m := range ms {
		f, ok := known[m.name]
		if !ok {
			return m.key.errorf("%s: unknown key %q; %s", what, m.name, lab.DidYouMean(m.name, names))
		}
		v := to.FieldByIndex(f.Index)
		if err := m.value.read(v.Addr().Interface(), m.name); err != nil {
			return err
		}
		if least, err := strconv.ParseInt(f.Tag.Get("min"), 10, 64); err == nil && v.Int() < least {
			return m.value.errorf("%s: %s, want %d or more", m.name, m.value.Value, least)
		}
	}
	return nil
}

func (n node) scalar(to reflect.Value, what string) error {
	want := map[reflect.Kind]string{reflect.String: text, reflect.Int: whole, reflect.Uint64: whole, reflect.Float64: number, reflect.Bool: truth}[to.Kind()]
	have := n.kind()
	if have != want && !(want == number && have == whole) || have == text && n.Value == "" {
		return n.errorf("%s: want %s, have %s", what, want, have)
	}
	if err := n.Decode(to.Addr().Interface()); err != nil {
		return n.errorf("%s: %s, want 0 or more, and less than 2^63 unless it is a seed", what, n.Value)
	}
	if to.CanFloat() && to.Float()-to.Float() != 0 {
		return n.errorf("%s: %v is not finite", what, to.Float())
	}
	return nil
}

// value is any JSON value. NaN and the infinities are written as the store does.
func (n node) value(what string) (v any, err error) {
	switch n.kind() {
	case aList:
		out := make([]any, len(n.Content))
		for i, e := range n.Content {
			if out[i], err = (node{e, n.file}).value(what); err != nil {
				return nil, err
			}
		}
		return out, nil
	case aMapping:
		ms, err := n.members(what)
		out := map[string]any{}
		for _, m := range ms {
			if out[m.name], err = m.value.value(what); err != nil {
				return nil, err
			}
		}
		return out, err
	case text:
		return n.Value, nil
	case number, whole, truth:
		if err = n.Decode(&v); err != nil {
			return nil, n.errorf("%s: %w", what, err)
		}
		switch x := v.(type) {
		case float64:
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return strings.Replace(fmt.Sprintf("%+v", x), "+NaN", "NaN", 1), nil
			}
		case int:
			if x < 0 {
				return int64(x), nil
			}
			return uint64(x), nil
		}
		return v, nil
	}
	return nil, n.errorf("%s: %s is not supported here", what, n.kind())
}
