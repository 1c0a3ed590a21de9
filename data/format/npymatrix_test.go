package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"coupling/lab/must"
)

// npy is a file of the values, as numpy.save writes it (version 1, padded to 64 bytes).
func npy(descr, fortran, shape string, order binary.ByteOrder, values any) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
	dict += strings.Repeat(" ", 117-len(dict)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00v\x00"), dict...)
	return must.Get(binary.Append(b, order, values))
}

// readMatrix is ReadNPYMatrix of bytes.
func readMatrix(b []byte) (*mat.Dense, error) {
	rows, cols, x, err := ReadNPYMatrix(bytes.NewReader(b), 1<<40)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(rows, cols, x), nil
}

// Every type and order holds the same numbers.
func TestReadNPYMatrix(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	matrix := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	columns := []float64{1, 4, 2, 5, 3, 6}
	rows := matrix.RawMatrix().Data
	for _, c := range []struct {
		descr, fortran, shape string
		order                 binary.ByteOrder
		values                any
		want                  *mat.Dense
	}{
		{"<f8", "False", "(2, 3)", little, rows, matrix},
		{"<f8", "True", "(2, 3)", little, columns, matrix},
		{">f8", "False", "(2, 3)", big, rows, matrix},
		{">f8", "True", "(2, 3)", big, columns, matrix},
		{"=f8", "False", "(2, 3,)", little, rows, matrix},
		{"<f4", "False", "(2, 3)", little, []float32{1, 2, 3, 4, 5, 6}, matrix},
		{">f4", "True", "(2, 3)", big, []float32{1, 4, 2, 5, 3, 6}, matrix},
		{"<f2", "False", "(6,)", little, []uint16{0x3c00, 0xc100, 0x7bff, 0x0001, 0x83ff, 0x7c00},
			mat.NewDense(6, 1, []float64{1, -2.5, 65504, 0x1p-24, -0x3ffp-24, math.Inf(1)})},
		{"<i8", "False", "(2, 3)", little, []int64{1, 2, 3, 4, 5, 6}, matrix},
		{"<i4", "False", "(2, 3)", little, []int32{1, 2, 3, 4, 5, 6}, matrix},
		{">i4", "False", "(2,)", big, []int32{-7, 1 << 30}, mat.NewDense(2, 1, []float64{-7, 1 << 30})},
		{"<i2", "False", "(2,)", little, []int16{-7, 300}, mat.NewDense(2, 1, []float64{-7, 300})},
		{"|i1", "False", "(2,)", little, []int8{-7, 100}, mat.NewDense(2, 1, []float64{-7, 100})},
		{"<u8", "False", "(1,)", little, []uint64{math.MaxUint64}, mat.NewDense(1, 1, []float64{0x1p64})},
		{"<u4", "False", "(1,)", little, []uint32{math.MaxUint32}, mat.NewDense(1, 1, []float64{0x1p32 - 1})},
		{">u2", "False", "(1,)", big, []uint16{513}, mat.NewDense(1, 1, []float64{513})},
		{"|u1", "False", "(1, 2)", little, []uint8{0, 255}, mat.NewDense(1, 2, []float64{0, 255})},
		{"|b1", "False", "(2,)", little, []bool{true, false}, mat.NewDense(2, 1, []float64{1, 0})},
	} {
		got, err := readMatrix(npy(c.descr, c.fortran, c.shape, c.order, c.values))
		if err != nil {
			t.Errorf("%s %s: %v", c.descr, c.shape, err)
			continue
		}
		if diff := cmp.Diff(c.want.RawMatrix(), got.RawMatrix()); diff != "" {
			t.Errorf("%s %s, Fortran %s: %s", c.descr, c.shape, c.fortran, diff)
		}
	}
}

// Headers are read as for ReadNPY.
func TestReadNPYMatrixRefuses(t *testing.T) {
	good := npy("<f8", "False", "(2,)", binary.LittleEndian, []float64{1, 2})
	swap := func(old, new string) []byte { // header lengths stay: the padding makes up
		header := strings.Replace(string(good[10:128]), old, new, 1)
		header = strings.TrimRight(header, " \n")
		return []byte(string(good[:10]) + header + strings.Repeat(" ", 117-len(header)) + "\n" + string(good[128:]))
	}
	for _, c := range []struct {
		name  string
		in    []byte
		names string
	}{
		{"cut in values", good[:len(good)-1], "truncated: 15 bytes of NPY values, want 16"},
		{"trailing", append(append([]byte(nil), good...), 0), "trailing"},
		{"complex", swap("<f8", "<c8"), `"<c8"`},
		{"long double", swap("<f8", "<f16"), `"<f16"`},
		{"object", swap("<f8", "|O"), `"|O"`},
		{"no order", swap("'fortran_order': False, ", ""), "dictionary"},
		{"overflow", swap("(2,)", "(4611686018427387905, 4)"), "limit"},
		{"scalar", swap("(2,)", "()"), "vector or a matrix"},
		{"three", swap("(2,)", "(1, 2, 1)"), "vector or a matrix"},
		{"none", swap("(2,)", "(0, 2)"), "not empty"},
	} {
		_, err := readMatrix(c.in)
		t.Run(c.name, func(t *testing.T) { wantBad(t, err, c.names) })
	}
}

// Whatever the bytes, there is a matrix or an error, and a matrix survives being written.
func FuzzReadNPYMatrix(f *testing.F) {
	f.Add(npy("<f8", "False", "(2, 1)", binary.LittleEndian, []float64{1, 2}))
	f.Add(npy(">i4", "True", "(2, 2)", binary.BigEndian, []int32{1, 2, 3, 4}))
	f.Add(npy("|b1", "False", "(3,)", binary.BigEndian, []bool{true, false, true}))
	f.Add(npy("<f8", "False", "(4611686018427387905, 4)", binary.LittleEndian, []float64{1, 2}))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := readMatrix(in)
		if err != nil {
			return
		}
		r, c := m.Dims()
		var file bytes.Buffer
		must.Do(WriteNPY(&file, []int{r, c}, m.RawMatrix().Data))
		again := must.Get(readMatrix(file.Bytes()))
		for k, v := range m.RawMatrix().Data {
			if math.Float64bits(v) != math.Float64bits(again.RawMatrix().Data[k]) {
				t.Fatalf("number %d: %g, then %g", k, v, again.RawMatrix().Data[k])
			}
		}
	})
}
