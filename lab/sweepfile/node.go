package sweepfile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coupling/lab"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
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
	ast.Node
	file string
}

func (n node) line() int {
	if n.Node == nil || n.GetToken() == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

func (n node) errorf(format string, args ...any) error {
	return &Error{n.file, n.line(), fmt.Errorf(format, args...)}
}

// child is a part of n. The parser takes 1e-3 for text, which YAML 1.2 calls a number.
func (n node) child(v ast.Node) node {
	if s, ok := v.(*ast.StringNode); ok && s.Token.Type == token.StringType && scientific.MatchString(s.Value) {
		if x, err := strconv.ParseFloat(s.Value, 64); err == nil {
			v = &ast.FloatNode{BaseNode: s.BaseNode, Token: s.Token, Value: x}
		}
	}
	return node{v, n.file}
}

var scientific = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)

// parse returns the only document of a file.
func parse(file string, b []byte) (node, error) {
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return node{}, &Error{file, syntaxLine(err), errors.New(firstLine(err.Error()))}
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return node{}, &Error{file, 1, fmt.Errorf("%d documents, want one that is not empty", len(f.Docs))}
	}
	return node{f.Docs[0].Body, file}, nil
}

// syntaxLine reads "[3:5] …", the form of the parser's errors.
func syntaxLine(err error) int {
	line, column := 1, 0
	_, _ = fmt.Sscanf(err.Error(), "[%d:%d]", &line, &column)
	return line
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if _, rest, ok := strings.Cut(s, "] "); ok && strings.HasPrefix(s, "[") {
		s = rest
	}
	return s
}

// member is one entry of a mapping.
type member struct {
	name  string
	key   node
	value node
}

// members returns the entries of a mapping in their order.
func (n node) members(what string) ([]member, error) {
	var values []*ast.MappingValueNode
	switch m := n.Node.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode: // one that has a single entry
		values = []*ast.MappingValueNode{m}
	default:
		return nil, n.errorf("%s: want a mapping, have %s", what, n.kind())
	}
	var out []member
	seen := map[string]bool{}
	for _, v := range values {
		key := node{v.Key, n.file}
		name, ok := v.Key.(*ast.StringNode)
		if !ok {
			return nil, key.errorf("%s: key %s: want a plain name", what, v.Key)
		}
		if seen[name.Value] {
			return nil, key.errorf("%s: %q is there twice", what, name.Value)
		}
		seen[name.Value] = true
		out = append(out, member{name.Value, key, n.child(v.Value)})
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

func (n node) items(what string) ([]node, error) {
	s, ok := n.Node.(*ast.SequenceNode)
	if !ok {
		return nil, n.errorf("%s: want a list, have %s", what, n.kind())
	}
	var out []node
	for _, v := range s.Values {
		out = append(out, n.child(v))
	}
	return out, nil
}

// value is any JSON value. NaN and the infinities are written as the store does.
func (n node) value(what string) (any, error) {
	switch v := n.Node.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.LiteralNode:
		return v.Value.Value, nil
	case *ast.IntegerNode:
		return v.Value, nil
	case *ast.FloatNode:
		return v.Value, nil
	case *ast.BoolNode:
		return v.Value, nil
	case *ast.NanNode:
		return "NaN", nil
	case *ast.InfinityNode:
		return fmt.Sprintf("%+v", v.Value), nil
	case *ast.SequenceNode:
		return n.list(what)
	case *ast.MappingNode, *ast.MappingValueNode:
		return n.object(what)
	}
	return nil, n.errorf("%s: %s is not supported here", what, n.kind())
}

func (n node) list(what string) (any, error) {
	items, err := n.items(what)
	out := make([]any, len(items))
	for i, item := range items {
		if out[i], err = item.value(what); err != nil {
			return nil, err
		}
	}
	return out, err
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
		s, ok := n.Node.(*ast.StringNode)
		if !ok || s.Value == "" {
			return n.errorf("%s: want text, have %s", what, n.kind())
		}
		*to = s.Value
		return nil
	}
}

// whole reads an integer of at least least.
func whole[T int | uint64](to *T, what string, least T) func(node) error {
	return func(n node) error {
		v, ok := n.Node.(*ast.IntegerNode)
		if !ok {
			return n.errorf("%s: want a whole number, have %s", what, n.kind())
		}
		switch x := v.Value.(type) {
		case uint64:
			if *to = T(x); *to < 0 || uint64(*to) != x || *to < least {
				return n.errorf("%s: %d, want %d or more, and less than 2^63 unless it is a seed", what, x, least)
			}
		case int64: // a negative one
			return n.errorf("%s: %d, want %d or more", what, x, least)
		}
		return nil
	}
}

func real(to *float64, what string) func(node) error {
	return func(n node) error {
		switch v := n.Node.(type) {
		case *ast.FloatNode:
			*to = v.Value
		case *ast.IntegerNode:
			switch x := v.Value.(type) {
			case uint64:
				*to = float64(x)
			case int64:
				*to = float64(x)
			}
		default:
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
		v, ok := n.Node.(*ast.BoolNode)
		if !ok {
			return n.errorf("%s: want true or false, have %s", what, n.kind())
		}
		*to = v.Value
		return nil
	}
}

func (n node) kind() string {
	switch n.Node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.NanNode, *ast.InfinityNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode, nil:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		return "an anchor"
	}
	return "a tag"
}
