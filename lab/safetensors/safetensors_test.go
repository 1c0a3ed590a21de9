package safetensors_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coupling/lab/safetensors"
)

func Example() {
	file := safetensors.Encode(map[string]safetensors.Tensor{"w": {Shape: []int{2}, Data: []float32{1, 2}}})
	fmt.Println(file[0], string(file[8:64]), len(file))
	t, err := safetensors.Decode(file)
	fmt.Println(t["w"].Shape, t["w"].Data, err)
	// Output:
	// 56 {"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   72
	// [2] [1 2] <nil>
}

// file is a header and so many bytes of data.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestDecode(t *testing.T) {
	got, err := safetensors.Decode(file(`{"__metadata__":{"format":"pt"},"n":{"dtype":"I64","shape":[],"data_offsets":[8,16]},
		"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"none":{"dtype":"F32","shape":[0,7],"data_offsets":[8,8]}}`, 16))
	want := map[string]safetensors.Tensor{"a": {Shape: []int{1, 2}, Data: []float32{0, 0}}, "none": {Shape: []int{0, 7}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestRefusals(t *testing.T) {
	one := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"a":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	for name, b := range map[string][]byte{
		"empty":     nil,
		"length":    {255, 255, 255, 255, 255, 255, 255, 255, '{', '}'},
		"not JSON":  file("hello", 0),
		"half":      file(one("F16", "[2]", "[0,4]"), 4),
		"short":     file(one("F32", "[2]", "[0,8]"), 4),
		"trailing":  file(one("F32", "[2]", "[0,8]"), 12),
		"hole":      file(one("F32", "[2]", "[4,12]"), 12),
		"shape":     file(one("F32", "[3]", "[0,8]"), 8),
		"negative":  file(one("F32", "[-2,-1]", "[0,8]"), 8),
		"overflow":  file(one("F32", "[4611686018427387904,4]", "[0,0]"), 0),
		"backwards": file(one("F32", "[0]", "[8,0]"), 8),
		"overlap": file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
			"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12),
	} {
		if got, err := safetensors.Decode(b); !errors.Is(err, safetensors.ErrFormat) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Whatever decodes, and is written again, decodes to the same.
func FuzzDecode(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{}`, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := safetensors.Decode(b)
		if err != nil {
			return
		}
		second, err := safetensors.Decode(safetensors.Encode(first))
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}
