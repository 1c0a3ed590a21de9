package format

import (
	"bytes"
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
	for _, test := range []struct {
		name  string
		in    []byte
		limit int64
		texts []string
	}{
		{"empty", nil, 6, []string{"truncated", "magic"}},
		{"other type", floats, 6, []string{"0x00000d02", "0x0000080n"}},
		{"rank 9", rank9, 6, []string{"n = 1 to 8"}},
		{"gzip", []byte{0x1f, 0x8b, 8, 0, 0}, 6, []string{"0x1f8b0800"}},
		{"cut in the header", idx2x3[:10], 6, []string{"truncated", "dimensions"}},
		{"cut in the values", idx2x3[:17], 6, []string{"truncated: 5 bytes of IDX values, want 6"}},
		{"one byte more", append(bytes.Clone(idx2x3), 0), 6, []string{"trailing"}},
		{"above the limit", idx2x3, 5, []string{"limit of 5"}},
		{"overflow", []byte{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 1 << 40, []string{"limit"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ReadIDX(bytes.NewReader(test.in), test.limit)
			wantBad(t, err, test.texts...)
			if got != nil {
				t.Error("a refused file gave values")
			}
		})
	}
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
