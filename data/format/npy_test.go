package format

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
)

func roundTrip[T Element](t *testing.T, data []T) {
	t.Helper()
	for _, shape := range [][]int{{len(data)}, {1, len(data), 1}} {
		var file bytes.Buffer
		must.Do(WriteNPY(&file, shape, data))
		got := must.Get(ReadNPY[T](&file, int64(len(data))))
		if diff := cmp.Diff(&NPY[T]{Shape: shape, Data: data}, got, cmpopts.EquateNaNs(),
			cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNPYRoundTrip(t *testing.T) {
	roundTrip(t, []float32{0, -1.5, math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN())})
	roundTrip(t, []float64{0, -1.5, math.MaxFloat64, math.Inf(-1), math.NaN()})
	roundTrip(t, []int64{0, -7, math.MaxInt64, math.MinInt64})
	roundTrip(t, []uint8{0, 255})
	roundTrip(t, []float64{})
	rapid.Check(t, func(rt *rapid.T) {
		h, w := rapid.IntRange(0, 300).Draw(rt, "h"), rapid.IntRange(0, 100).Draw(rt, "w")
		data := make([]float32, h*w)
		for i := range data {
			data[i] = float32(i) / 3
		}
		var file bytes.Buffer
		if err := WriteNPY(&file, []int{h, w}, data); err != nil {
			rt.Fatal(err)
		}
		got, err := ReadNPY[float32](&file, 1<<20)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(&NPY[float32]{Shape: []int{h, w}, Data: data}, got); diff != "" {
			rt.Error(diff)
		}
	})
}

// The bytes that numpy.save(f, numpy.array([[1, 2, 3], [4, 5, 6]], dtype)) writes
// (NumPy 1.24), in versions 1 and 2 of the format.
func TestReadNPYOfNumPy(t *testing.T) {
	pad := func(dict string, to int) string { return dict + strings.Repeat(" ", to-len(dict)-1) + "\n" }
	dict := "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"
	for name, in := range map[string]string{
		"version 1": "\x93NUMPY\x01\x00v\x00" + pad(dict, 118) + "\x01\x02\x03\x04\x05\x06",
		"version 2": "\x93NUMPY\x02\x00t\x00\x00\x00" + pad(dict, 116) + "\x01\x02\x03\x04\x05\x06",
		"double quotes": "\x93NUMPY\x01\x00v\x00" + pad(strings.ReplaceAll(dict, "'", `"`), 118) +
			"\x01\x02\x03\x04\x05\x06",
		"other order": "\x93NUMPY\x01\x00v\x00" +
			pad("{'shape':(2,3,),'fortran_order':False,'descr':'|u1'}", 118) + "\x01\x02\x03\x04\x05\x06",
	} {
		got, err := ReadNPY[uint8](strings.NewReader(in), 6)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&NPY[uint8]{Shape: []int{2, 3}, Data: []uint8{1, 2, 3, 4, 5, 6}}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReadNPYRefuses(t *testing.T) {
	file := func(dict, values string) string {
		size := binary.LittleEndian.AppendUint16(nil, uint16(len(dict)))
		return "\x93NUMPY\x01\x00" + string(size) + dict + values
	}
	good := "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
	swap := func(old, new string) string { return file(strings.Replace(good, old, new, 1), "12345678") }
	refuse(t, func(r io.Reader) (*NPY[float32], error) { return ReadNPY[float32](r, 2) }, map[string]bad[string]{
		"empty":            {"", "truncated"},
		"magic":            {"PK\x03\x04........", "magic"},
		"version 4":        {"\x93NUMPY\x04\x00..", "version"},
		"long header":      {"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header of 4294967295 bytes"},
		"cut length":       {"\x93NUMPY\x01\x00\xff", "truncated"},
		"swapped values":   {swap("'fortran_order': False", "'fortran_order': '<f4'"), "dictionary"},
		"cut header":       {"\x93NUMPY\x01\x00\xff\x00{", "truncated"},
		"float64":          {swap("<f4", "<f8"), `"<f8": want "<f4"`},
		"big-endian":       {swap("<f4", ">f4"), `">f4": want "<f4"`},
		"objects":          {swap("'<f4'", "'|O'"), `"|O"`},
		"structure":        {swap("'<f4'", "[('a', '<f4')]"), "dictionary"},
		"Fortran":          {swap("False", "True"), "want False"},
		"expression":       {swap("False", "exit()"), "dictionary"},
		"negative":         {swap("(2,)", "(-2,)"), "dictionary"},
		"overflow":         {swap("(2,)", "(4294967296, 4294967296, 4)"), "limit"},
		"too big to parse": {swap("(2,)", "(99999999999999999999,)"), "dictionary"},
		"no shape":         {swap("'shape': (2,), ", ""), "dictionary"},
		"key twice":        {swap("'shape': (2,)", "'descr': '<f4'"), "dictionary"},
		"unknown key":      {swap("'shape'", "'size'"), "dictionary"},
		"text after":       {swap("}", "} 1"), "dictionary"},
		"unclosed":         {swap(", }", ""), "dictionary"},
		"33 dimensions":    {swap("(2,)", "("+strings.Repeat("1,", 33)+")"), "dictionary"},
		"cut values":       {file(good, "1234567"), "truncated: 7 bytes of NPY values, want 8"},
		"trailing":         {file(good, "123456789"), "trailing"},
		"above the limit":  {swap("(2,)", "(3,)"), "limit of 2"},
	})
	if err := WriteNPY(&bytes.Buffer{}, []int{2, 2}, []uint8{1, 2, 3}); err == nil {
		t.Error("WriteNPY accepted 3 values for a shape of 4")
	}
}

func FuzzReadNPY(f *testing.F) {
	for _, shape := range [][]int{{2}, {1, 2}, {}} {
		var file bytes.Buffer
		must.Do(WriteNPY(&file, shape, []float32{1, 2}[:max(2*len(shape), 1)/max(len(shape), 1)]))
		f.Add(file.Bytes())
	}
	f.Add([]byte(npyHeader([]int{1 << 31, 1 << 20}, "<f4")))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadNPY[float32](bytes.NewReader(in), 1<<50)
		if err != nil {
			wantBad(t, err)
			return
		}
		var file bytes.Buffer
		must.Do(WriteNPY(&file, got.Shape, got.Data))
		again := must.Get(ReadNPY[float32](&file, 1<<50))
		if diff := cmp.Diff(got, again, cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	})
}
