package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// npyTypes are the types of numbers that NPY files are read with, as NumPy names them without their byte order: how many
// bytes one takes and what it is.
var npyTypes = map[string]struct {
	size int
	at   func(o binary.ByteOrder, b []byte) float64
}{
	"f8": {8, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
	"f4": {4, func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	"i8": {8, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	"i4": {4, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	"i2": {2, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	"i1": {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) }},
	"u8": {8, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }},
	"u4": {4, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	"u2": {2, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	"u1": {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
	"b1": {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(min(b[0], 1)) }},
}

// parseNPY reads an NPY file (versions 1 to 3) of real numbers or truth values in one or two dimensions, of either byte
// order and in C or Fortran order. A vector is one column. Integers beyond 2^53 are rounded.
func parseNPY(b []byte) (*mat.Dense, error) {
	header, body, err := splitNPY(b)
	if err != nil {
		return nil, err
	}
	a, err := parseNPYHeader(header)
	if err != nil {
		return nil, err
	}
	rows, cols, err := a.dims()
	if err != nil {
		return nil, err
	}
	kind := npyTypes[a.kind]
	// By division: shapes come from the file and their product may overflow.
	if len(body)%kind.size != 0 || len(body)/kind.size%cols != 0 || len(body)/kind.size/cols != rows {
		return nil, fmt.Errorf("%d bytes of values: want %v numbers of %d bytes", len(body), a.shape, kind.size)
	}
	out := make([]float64, rows*cols)
	for k := range out {
		v := kind.at(a.order, body[k*kind.size:])
		if a.fortran {
			out[k%rows*cols+k/rows] = v
		} else {
			out[k] = v
		}
	}
	return mat.NewDense(rows, cols, out), nil
}

// splitNPY takes off the magic number, the version and the length of the header.
func splitNPY(b []byte) (header string, body []byte, err error) {
	const magic, before = "\x93NUMPY", 8
	if len(b) < before || string(b[:6]) != magic {
		return "", nil, errors.New("not an NPY file")
	}
	width := 4
	switch b[6] {
	case 1:
		width = 2
	case 2, 3:
	default:
		return "", nil, fmt.Errorf("NPY version %d: want 1 to 3", b[6])
	}
	if len(b) < before+width {
		return "", nil, errors.New("truncated NPY header")
	}
	var raw [4]byte
	copy(raw[:], b[before:before+width])
	body = b[before+width:]
	length := binary.LittleEndian.Uint32(raw[:])
	if uint64(length) > uint64(len(body)) {
		return "", nil, errors.New("truncated NPY header")
	}
	return string(body[:length]), body[length:], nil
}

// npyHeader is what the header says.
type npyHeader struct {
	kind    string // of npyTypes
	order   binary.ByteOrder
	fortran bool
	shape   []int
}

// npyEntry is one entry of the Python dictionary that a header is.
var npyEntry = regexp.MustCompile(`['"](descr|fortran_order|shape)['"]\s*:\s*(?:['"]([^'"]*)['"]|(True|False)|\(([0-9, ]*)\))`)

// parseNPYHeader reads
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
func parseNPYHeader(header string) (h npyHeader, err error) {
	bad := fmt.Errorf("NPY header %.100q: want the type of plain numbers, the order and a shape", header)
	entries := npyEntry.FindAllStringSubmatch(header, -1)
	rest := strings.Join(strings.Fields(npyEntry.ReplaceAllString(header, "")), "")
	if len(entries) != 3 || rest != "{,,}" && rest != "{,,,}" {
		return h, bad
	}
	seen := map[string]string{}
	for _, e := range entries {
		seen[e[1]] = e[2] + e[3] + "(" + e[4]
	}
	descr, okType := strings.CutSuffix(seen["descr"], "(")
	order, okOrder := strings.CutSuffix(seen["fortran_order"], "(")
	shape, okShape := strings.CutPrefix(seen["shape"], "(")
	if !okType || !okOrder || !okShape || len(descr) < 2 || order != "True" && order != "False" {
		return h, bad
	}
	h.fortran, h.kind, h.order = order == "True", descr[1:], binary.LittleEndian
	if _, known := npyTypes[h.kind]; !known || !strings.Contains("<>|=", descr[:1]) {
		return h, fmt.Errorf("NPY values of type %q: want float32, float64, an integer or bool", descr)
	}
	if descr[0] == '>' {
		h.order = binary.BigEndian
	}
	for _, d := range strings.FieldsFunc(shape, func(c rune) bool { return c == ',' || c == ' ' }) {
		k, err := strconv.Atoi(d)
		if err != nil {
			return h, bad
		}
		h.shape = append(h.shape, k)
	}
	return h, nil
}

// dims returns the shape as that of a matrix.
func (h npyHeader) dims() (rows, cols int, err error) {
	switch len(h.shape) {
	case 1:
		rows, cols = h.shape[0], 1
	case 2:
		rows, cols = h.shape[0], h.shape[1]
	default:
		return 0, 0, fmt.Errorf("shape %v: want a vector or a matrix", h.shape)
	}
	if rows == 0 || cols == 0 {
		return 0, 0, fmt.Errorf("shape %v: no numbers", h.shape)
	}
	return rows, cols, nil
}
