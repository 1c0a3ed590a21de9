package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coupling/lab/must"
	"coupling/lab/nn/safetensors"
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
	got, err := safetensors.Decode(
		file(`{"__metadata__":{"format":"pt"},"n":{"dtype":"I64","shape":[],"data_offsets":[8,16]},
		"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},
		"none":{"dtype":"F32","shape":[0,7],"data_offsets":[8,8]}}`, 16))
	want := map[string]safetensors.Tensor{"a": {Shape: []int{1, 2}, Data: []float32{0, 0}},
		"none": {Shape: []int{0, 7}}}
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
		"double":    file(one("F64", "[1]", "[0,8]"), 8),
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

// reader prints the arrays and metadata of a file as JSON, by the format's description and Python's own library.
const reader = `
import json, struct, sys
b = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", b[:8])
header, data, out = json.loads(b[8:8+n]), b[8+n:], {}
for name, a in header.items():
    if name == "__metadata__":
        out[name] = a
        continue
    lo, hi = a["data_offsets"]
    code = {"F32": "f", "F64": "d", "I32": "i", "I64": "q"}[a["dtype"]]
    count = (hi - lo) // struct.calcsize("<" + code)
    values = list(struct.unpack("<%d%s" % (count, code), data[lo:hi]))
    out[name] = {"type": a["dtype"], "shape": a["shape"], "values": values}
print(json.dumps(out))
`

// Python reads names, types, shapes, values and metadata of a file as they were written.
func TestPythonReadsIt(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on PATH: sudo apt-get install python3")
	}
	type array struct {
		Type   string    `json:"type"`
		Shape  []int     `json:"shape"`
		Values []float64 `json:"values"`
	}
	want := map[string]array{
		"net/0.weight": {"F32", []int{2, 3}, []float64{1, -2.5, 0, 0x1p100, 0x1p-126, 7}},
		"adam/t":       {"I32", []int{1}, []float64{-3}},
		"step":         {"I64", []int{}, []float64{1 << 40}},
		"mean":         {"F64", []int{3, 1}, []float64{.1, -1e-300, 1e300}},
		"none":         {"F32", []int{0, 4}, []float64{}},
	}
	var arrays []safetensors.Array
	for name, a := range want {
		var data bytes.Buffer
		for _, v := range a.Values {
			typed := map[string]any{"F32": float32(v), "F64": v, "I32": int32(v), "I64": int64(v)}[a.Type]
			must.Do(binary.Write(&data, binary.LittleEndian, typed))
		}
		arrays = append(arrays, safetensors.Array{Name: name, Type: a.Type, Shape: a.Shape, Data: data.Bytes()})
	}
	var file bytes.Buffer
	must.Do(safetensors.Write(&file, arrays, map[string]string{"made by": "coupling, ε"}))
	path := filepath.Join(t.TempDir(), "net.safetensors")
	must.Do(os.WriteFile(path, file.Bytes(), 0o666))
	out, err := exec.CommandContext(t.Context(), python, "-c", reader, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var read map[string]json.RawMessage
	must.Do(json.Unmarshal(out, &read))
	var metadata map[string]string
	if err := json.Unmarshal(read["__metadata__"], &metadata); err != nil || metadata["made by"] != "coupling, ε" {
		t.Errorf("metadata %v, %v", metadata, err)
	}
	delete(read, "__metadata__")
	got := map[string]array{}
	for name, text := range read {
		var a array
		must.Do(json.Unmarshal(text, &a))
		got[name] = a
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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
