package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Element is a type of values that NPY files are read and written with.
type Element interface {
	float32 | float64 | int64 | uint8
}

// NPY is an array in row-major (C) order.
type NPY[T Element] struct {
	Shape []int // empty: a single number
	Data  []T   // product of Shape
}

const npyMagic = "\x93NUMPY"

// dtype is NumPy's name of T in little-endian order.
func dtype[T Element]() string {
	switch any(*new(T)).(type) {
	case float32:
		return "<f4"
	case float64:
		return "<f8"
	case int64:
		return "<i8"
	default:
		return "|u1"
	}
}

// ReadNPY reads an NPY file (versions 1 to 3) that holds values of type T,
// little-endian and in C order. It refuses other types and orders, more than
// limit values, and a file that does not end where its header says.
func ReadNPY[T Element](r io.Reader, limit int64) (*NPY[T], error) {
	shape, err := readNPYHeader(r, dtype[T]())
	if err != nil {
		return nil, err
	}
	n, err := product(shape, limit)
	if err != nil {
		return nil, err
	}
	data, err := readValues[T](r, n)
	if err != nil {
		return nil, err
	}
	if err := expectEnd(r); err != nil {
		return nil, err
	}
	return &NPY[T]{Shape: shape, Data: data}, nil
}

// readValues reads n little-endian values; the result grows as they arrive.
func readValues[T Element](r io.Reader, n int64) ([]T, error) {
	const block = 1 << 14 // values
	size := int64(binary.Size(*new(T)))
	buf := make([]byte, min(n, block)*size)
	data := make([]T, 0, min(n, block))
	for int64(len(data)) < n {
		m := min(n-int64(len(data)), block)
		got, err := io.ReadFull(r, buf[:m*size])
		if err != nil {
			return nil, short(err, "NPY values", int64(len(data))*size+int64(got), n*size)
		}
		if int64(cap(data)-len(data)) < m {
			data = slices.Grow(data, int(min(n-int64(len(data)), int64(len(data)))))
		}
		data = data[:int64(len(data))+m]
		if _, err := binary.Decode(buf[:m*size], binary.LittleEndian, data[int64(len(data))-m:]); err != nil {
			return nil, fmt.Errorf("format: NPY values: %w", err)
		}
	}
	return data, nil
}

func readNPYHeader(r io.Reader, want string) ([]int, error) {
	head, err := readN(r, 8, "NPY magic number")
	if err != nil {
		return nil, err
	}
	if string(head[:6]) != npyMagic || head[6] < 1 || head[6] > 3 || head[7] != 0 {
		return nil, badf("NPY magic number %q: want \\x93NUMPY and version 1.0, 2.0 or 3.0", head)
	}
	width := int64(4)
	if head[6] == 1 {
		width = 2
	}
	size, err := readN(r, width, "NPY header length")
	if err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(append(size, 0, 0)))
	const longest = 1 << 16
	if length > longest {
		return nil, badf("NPY header of %d bytes: want at most %d", length, longest)
	}
	header, err := readN(r, length, "NPY header")
	if err != nil {
		return nil, err
	}
	return parseNPYHeader(string(header), want)
}

// parseNPYHeader reads the Python dictionary
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
func parseNPYHeader(header, want string) ([]int, error) {
	p := &literal{rest: header}
	var descr, fortran string
	var shape []int
	seen := map[string]bool{}
	p.token("{")
	for p.ok() && !p.accept("}") {
		key := p.text()
		p.token(":")
		if seen[key] {
			return nil, badf("NPY header names %s twice", clip(key))
		}
		seen[key] = true
		switch key {
		case "descr":
			descr = p.text()
		case "fortran_order":
			fortran = p.word()
		case "shape":
			shape = p.tuple()
		default:
			return nil, badf("NPY header has the unknown key %s", clip(key))
		}
		if !p.accept(",") {
			p.token("}")
			break
		}
	}
	switch {
	case !p.ok() || strings.TrimSpace(p.rest) != "" || len(seen) != 3:
		return nil, badf("NPY header %s: want a dictionary of descr, fortran_order and shape", clip(header))
	case descr != want:
		return nil, badf("NPY values have the type %s: want %q", clip(descr), want)
	case fortran != "False":
		return nil, badf("NPY fortran_order is %s: want False", clip(fortran))
	}
	return shape, nil
}

// literal takes a Python literal apart, token by token; after a mistake every
// call does nothing.
type literal struct {
	rest   string
	broken bool
}

func (p *literal) ok() bool { return !p.broken }

func (p *literal) accept(token string) bool {
	rest, found := strings.CutPrefix(strings.TrimLeft(p.rest, " \t\n"), token)
	if found && !p.broken {
		p.rest = rest
		return true
	}
	return false
}

func (p *literal) token(token string) {
	if !p.accept(token) {
		p.broken = true
	}
}

// text reads a string between single or double quotes, without escapes.
func (p *literal) text() string {
	quote := "'"
	if !p.accept(quote) {
		quote = `"`
		p.token(quote)
	}
	s, rest, found := strings.Cut(p.rest, quote)
	if !found || p.broken || strings.ContainsAny(s, "\\\n") {
		p.broken = true
		return ""
	}
	p.rest = rest
	return s
}

// word reads letters.
func (p *literal) word() string {
	p.token("") // blanks
	end := strings.IndexFunc(p.rest, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	if end < 1 {
		p.broken = true
		return ""
	}
	w := p.rest[:end]
	p.rest = p.rest[end:]
	return w
}

// tuple reads numbers between parentheses, at most 32 of them, as NumPy does.
func (p *literal) tuple() []int {
	p.token("(")
	dims := []int{}
	for p.ok() && !p.accept(")") {
		p.token("") // blanks
		end := strings.IndexFunc(p.rest, func(c rune) bool { return c < '0' || c > '9' })
		d, err := strconv.ParseInt(p.rest[:max(end, 0)], 10, 64)
		if err != nil || len(dims) == 32 {
			p.broken = true
			break
		}
		dims = append(dims, int(d))
		p.rest = p.rest[end:]
		if !p.accept(",") {
			p.token(")")
			break
		}
	}
	return dims
}

// WriteNPY writes values in row-major order as NPY version 1.0, padded so that
// the values start at a multiple of 64 bytes.
func WriteNPY[T Element](w io.Writer, shape []int, data []T) error {
	n, err := product(shape, int64(len(data)))
	if err != nil || n != int64(len(data)) {
		return fmt.Errorf("format: shape = %v: want a product of %d, the number of values", shape, len(data))
	}
	if _, err := io.WriteString(w, npyHeader(shape, dtype[T]())); err != nil {
		return err
	}
	const block = 1 << 14
	var buf []byte
	for part := range slices.Chunk(data, block) {
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, part); err != nil {
			return fmt.Errorf("format: NPY values: %w", err)
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

func npyHeader(shape []int, descr string) string {
	var dims strings.Builder
	for _, d := range shape {
		fmt.Fprintf(&dims, "%d,", d) // Python accepts (3,) and (3,4,)
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims.String())
	const before = len(npyMagic) + 4
	length := (before+len(dict)+1+63)/64*64 - before
	return npyMagic + "\x01\x00" + string([]byte{byte(length), byte(length >> 8)}) +
		dict + strings.Repeat(" ", length-len(dict)-1) + "\n"
}
