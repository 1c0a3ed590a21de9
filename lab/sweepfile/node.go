package sweepfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"coupling/lab"

	"go.yaml.in/yaml/v3"
)

// An Error is a fault of a file, with its line.
type Error struct {
	File string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Err }

// node is a part of the file that knows its line. The reader works on the syntax
// tree and not on Go structs, so that every fault has a line.
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
		_, _ = fmt.Sscanf(text, "line %d:", &line) // where it is known
		return node{}, &Error{file, line, errors.New(text)}
	}
	return node{doc.Content[0], file}, nil
}

// kind is what a person would call the node.
func (n node) kind() string {
	switch {
	case n.Node == nil:
		return "nothing"
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return "an anchor"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	}
	if kind, ok := kinds[n.ShortTag()]; ok {
		return kind
	}
	return "a tag"
}

var kinds = map[string]string{
	"!!str": "text", "!!timestamp": "text", "!!int": "a number", "!!float": "a number", "!!bool": "true or false", "!!null": "nothing",
}

// member is one entry of a mapping.
type member struct {
	name  string
	key   node
	value node
}

// members returns the entries of a mapping in their order.
func (n node) members(what string) ([]member, error) {
	if n.kind() != "a mapping" {
		return nil, n.errorf("%s: want a mapping, have %s", what, n.kind())
	}
	var out []member
	for i := 0; i < len(n.Content); i += 2 {
		key := node{n.Content[i], n.file}
		if key.kind() != "text" {
			return nil, key.errorf("%s: key %s: want a plain name", what, key.Value)
		}
		if slices.ContainsFunc(out, func(m member) bool { return m.name == key.Value }) {
			return nil, key.errorf("%s: %q is there twice", what, key.Value)
		}
		out = append(out, member{key.Value, key, node{n.Content[i+1], n.file}})
	}
	return out, nil
}

// fields calls the setter of each entry, and refuses what has none.
func (n node) fields(what string, set map[string]func(node) error) error {
	ms, err := n.members(what)
	if err != nil {
		return err
	}
	for _, m := range ms {
		f := set[m.name]
		if f == nil {
			return m.key.errorf("%s: unknown key %q; %s", what, m.name, lab.DidYouMean(m.name, slices.Sorted(maps.Keys(set))))
		}
		if err := f(m.value); err != nil {
			return err
		}
	}
	return nil
}

func (n node) items(what string) (out []node, err error) {
	if n.kind() != "a list" {
		return nil, n.errorf("%s: want a list, have %s", what, n.kind())
	}
	for _, v := range n.Content {
		out = append(out, node{v, n.file})
	}
	return out, nil
}

// value is any JSON value. NaN and the infinities are written as the store does.
func (n node) value(what string) (v any, err error) {
	switch n.kind() {
	case "a list":
		return n.list(what)
	case "a mapping":
		return n.object(what)
	case "text":
		return n.Value, nil
	case "a number", "true or false":
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

func (n node) list(what string) (any, error) {
	out := make([]any, len(n.Content))
	for i, v := range n.Content {
		var err error
		if out[i], err = (node{v, n.file}).value(what); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (n node) object(what string) (any, error) {
	ms, err := n.members(what)
	out := map[string]any{}
	for _, m := range ms {
		if out[m.name], err = m.value.value(what); err != nil {
			return nil, err
		}
	}
	return out, err
}

func text(to *string, what string) func(node) error {
	return func(n node) error {
		if n.kind() != "text" || n.Value == "" {
			return n.errorf("%s: want text, have %s", what, n.kind())
		}
		*to = n.Value
		return nil
	}
}

// whole reads an integer of at least least.
func whole[T int | uint64](to *T, what string, least T) func(node) error {
	return func(n node) error {
		if n.kind() != "a number" || n.ShortTag() != "!!int" {
			return n.errorf("%s: want a whole number, have %s", what, n.kind())
		}
		if err := n.Decode(to); err != nil || *to < least {
			return n.errorf("%s: %s, want %d or more, and less than 2^63 unless it is a seed", what, n.Value, least)
		}
		return nil
	}
}

func real(to *float64, what string) func(node) error {
	return func(n node) error {
		if n.kind() != "a number" || n.Decode(to) != nil {
			return n.errorf("%s: want a number, have %s", what, n.kind())
		}
		if math.IsNaN(*to) || math.IsInf(*to, 0) {
			return n.errorf("%s: %v is not finite", what, *to)
		}
		return nil
	}
}

func truth(to *bool, what string) func(node) error {
	return func(n node) error {
		if n.kind() != "true or false" {
			return n.errorf("%s: want true or false, have %s", what, n.kind())
		}
		return n.Decode(to)
	}
}
