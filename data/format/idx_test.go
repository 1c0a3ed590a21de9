package format

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/must"
)

var idx2x3 = []byte{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}

func TestReadIDX(t *testing.T) {
	got := must.Get(ReadIDX(bytes.NewReader(idx2x3), 6))
	want := &IDX{Dims: []int{2, 3}, Data: []byte{1, 2, 3, 4, 5, 6}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadIDXRefuses(t *testing.T) {
	floats := bytes.Clone(idx2x3)
	floats[2] = 0x0d
	rank9 := append([]byte{0, 0, 8, 9}, make([]byte, 64)...)
	small := func(r io.Reader) (*IDX, error) { return ReadIDX(r, 6) }
	refuse(t, small, map[string]bad[[]byte]{
		"empty":             {nil, "truncated"},
		"cut in the magic":  {idx2x3[:3], "magic"},
		"other type":        {floats, "0x00000d02"},
		"rank 9":            {rank9, "n = 1 to 8"},
		"gzip":              {[]byte{0x1f, 0x8b, 8, 0, 0}, "0x1f8b0800"},
		"cut in the header": {idx2x3[:10], "dimensions"},
		"cut in the values": {idx2x3[:17], "truncated: 5 bytes of IDX values, want 6"},
		"one byte more":     {append(bytes.Clone(idx2x3), 0), "trailing"},
		"above the limit":   {[]byte{0, 0, 8, 1, 0, 0, 0, 7}, "limit of 6"},
		"overflow":          {[]byte{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "limit"},
	})
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idx2x3)
	f.Add([]byte{0, 0, 8, 1, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 0, 28, 0, 0, 0, 28})
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadIDX(bytes.NewReader(in), 1<<40)
		if err != nil {
			wantBad(t, err)
			return
		}
		if len(got.Data)+4+4*len(got.Dims) != len(in) {
			t.Errorf("%d values of dimensions %v from %d bytes", len(got.Data), got.Dims, len(in))
		}
	})
}
