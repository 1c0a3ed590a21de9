package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
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
	h, raw, err := readNPY(r, limit, func(h npyHead) error {
		if want := dtype[T](); h.descr != want {
			return badf("NPY values have the type %s: want %q", clip(h.descr), want)
		}
		if h.fortran {
			return badf("NPY fortran_order is True: want False")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	data := make([]T, len(raw)/binary.Size(*new(T)))
	if _, err := binary.Decode(raw, binary.LittleEndian, data); err != nil {
		return nil, fmt.Errorf("format: NPY values: %w", err)
	}
	return &NPY[T]{Shape: h.shape, Data: data}, nil
}

// readNPY reads a whole file whose header passes a check.
func readNPY(r io.Reader, limit int64, check func(npyHead) error) (h npyHead, raw []byte, err error) {
	if h, err = readNPYHeader(r); err != nil {
		return h, nil, err
	}
	if err := check(h); err != nil {
		return h, nil, err
	}
	n, err := product(h.shape, limit)
	if err != nil {
		return h, nil, err
	}
	if raw, err = readN(r, n*h.size(), "NPY values"); err != nil {
		return h, nil, err
	}
	return h, raw, expectEnd(r)
}

// npyKinds are the types that ReadNPYMatrix takes, by NumPy's names without the byte order, which end in the bytes of
// a value. A function sets x to the values in raw.
var npyKinds = map[string]func(x []float64, raw []byte, o binary.ByteOrder){
	"f8": numbers[float64],
	"f4": numbers[float32],
	"f2": numbers[uint16],
	"i8": numbers[int64],
	"i4": numbers[int32],
	"i2": numbers[int16],
	"i1": numbers[int8],
	"u8": numbers[uint64],
	"u4": numbers[uint32],
	"u2": numbers[uint16],
	"u1": numbers[uint8],
	"b1": numbers[uint8],
}

func numbers[T float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](
	x []float64, raw []byte, o binary.ByteOrder,
) {
	const block = 1 << 12
	for part := make([]T, min(len(x), block)); len(x) > 0; x = x[len(part):] {
		part = part[:min(len(x), block)]
		n, _ := binary.Decode(raw, o, part) // of as many bytes it does not fail
		for i, v := range part {
			x[i] = float64(v)
		}
		raw = raw[n:]
	}
}

// float16 returns the number of IEEE 754's half precision with these bits.
func float16(bits uint16) float64 {
	v, exponent := float64(bits&0x3ff), int(bits>>10&0x1f)
	switch exponent {
	case 0:
		v = math.Ldexp(v, -24)
	case 0x1f:
		v = math.Inf(1)
		if bits&0x3ff != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(v+0x400, exponent-25)
	}
	if bits&0x8000 != 0 {
		return -v
	}
	return v
}

// ReadNPYMatrix reads an NPY file of real numbers of at most 64 bits or truth values, of either
// byte order and in C or Fortran order, as a matrix in row-major order. A vector
// is one column. Integers beyond 2^53 are rounded. It refuses other types and
// shapes, no values, more than limit, and a file that does not end where its
// header says.
func ReadNPYMatrix(r io.Reader, limit int64) (rows, cols int, x []float64, err error) {
	h, raw, err := readNPY(r, limit, func(h npyHead) error {
		if npyKinds[h.kind()] == nil {
			return badf("NPY values have type %s: want float16, float32, float64, an integer or bool", clip(h.descr))
		}
		if len(h.shape) < 1 || len(h.shape) > 2 || slices.Contains(h.shape, 0) {
			return badf("NPY shape %v: want a vector or a matrix that is not empty", h.shape)
		}
		return nil
	})
	if err != nil {
		return 0, 0, nil, err
	}
	kind, n := h.kind(), int(int64(len(raw))/h.size())
	rows, cols = h.shape[0], n/h.shape[0]
	x = make([]float64, n)
	var order binary.ByteOrder = binary.LittleEndian
	if h.descr[0] == '>' {
		order = binary.BigEndian
	}
	npyKinds[kind](x, raw, order)
	for i, v := range x {
		switch kind {
		case "f2":
			x[i] = float16(uint16(v))
		case "b1":
			x[i] = min(v, 1)
		}
	}
	if h.fortran {
		columns := slices.Clone(x)
		for k, v := range columns {
			x[k%rows*cols+k/rows] = v
		}
	}
	return rows, cols, x, nil
}

// npyHead is the header of a file.
type npyHead struct {
	descr   string
	fortran bool
	shape   []int
}

// kind returns the type of the values; size 0 where there is none of that name.
func (h npyHead) kind() string { return strings.TrimLeft(h.descr, "<>|=") }

// size returns the bytes of a value of a kind that npyKinds has.
func (h npyHead) size() int64 { return int64(h.kind()[1] - '0') }

func readNPYHeader(r io.Reader) (npyHead, error) {
	head, err := readN(r, 8, "NPY magic number")
	if err != nil {
		return npyHead{}, err
	}
	if string(head[:6]) != npyMagic || head[6] < 1 || head[6] > 3 || head[7] != 0 {
		return npyHead{}, badf("NPY magic number %q: want \\x93NUMPY and version 1.0, 2.0 or 3.0", head)
	}
	width := int64(4)
	if head[6] == 1 {
		width = 2
	}
	size, err := readN(r, width, "NPY header length")
	if err != nil {
		return npyHead{}, err
	}
	length := int64(binary.LittleEndian.Uint32(append(size, 0, 0)))
	const longest = 1 << 16
	if length > longest {
		return npyHead{}, badf("NPY header of %d bytes: want at most %d", length, longest)
	}
	header, err := readN(r, length, "NPY header")
	if err != nil {
		return npyHead{}, err
	}
	return parseNPYHeader(string(header))
}

// npyEntry is one entry of the Python dictionary that a header is.
var npyEntry = regexp.MustCompile(
	`['"](descr|fortran_order|shape)['"]\s*:\s*(?:['"]([^'"\\\n]*)['"]|(True|False)|(\([0-9, ]*\)))`)

// parseNPYHeader reads the Python dictionary
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
func parseNPYHeader(header string) (npyHead, error) {
	bad := badf("NPY header %s: want a dictionary of descr, fortran_order and shape", clip(header))
	entries := npyEntry.FindAllStringSubmatch(header, -1)
	if rest := strings.Join(strings.Fields(npyEntry.ReplaceAllString(header, "")), ""); rest != "{,,}" &&
		rest != "{,,,}" {
		return npyHead{}, bad
	}
	var descr, fortran, shape string
	for _, e := range entries {
		switch e[1] {
		case "descr":
			descr = e[2]
		case "fortran_order":
			fortran = e[3]
		case "shape":
			shape = e[4]
		}
	}
	if len(entries) != 3 || descr == "" || fortran == "" || shape == "" {
		return npyHead{}, bad
	}
	dims := []int{}
	for _, d := range strings.FieldsFunc(shape, func(c rune) bool { return strings.ContainsRune("(), ", c) }) {
		k, err := strconv.Atoi(d)
		if err != nil || len(dims) == 32 { // as many as NumPy has
			return npyHead{}, bad
		}
		dims = append(dims, k)
	}
	return npyHead{descr, fortran == "True", dims}, nil
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
