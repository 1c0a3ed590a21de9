// Package safetensors reads and writes files of named arrays, which NumPy, PyTorch and JAX open by the library of that
// name.
//
// A file is eight bytes with the little-endian length of a header, the header, and data. The header is a JSON object
// that maps each name to its type, shape and place in the data,
//
//	{"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {…}}
//
// As the format wants it, arrays cover the data without holes and overlaps, and metadata are texts by name. Here each
// array must be little-endian F32, F64, I32 or I64. Anything else is an error that wraps ErrFormat, and no count of a
// header is believed before the bytes are there.
//
// A worked example: the file of one array w = [1, 2] has the length 56, the header
// {"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} padded with spaces, and eight bytes of data.
//
// Source: https://github.com/huggingface/safetensors, section "Format".
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
)

// ErrFormat is wrapped by every error about the content of a file.
var ErrFormat = errors.New("bad safetensors file")

// An Array is a row-major array of any type.
type Array struct {
	Name  string
	Type  string // F32, F64, I32 or I64
	Shape []int
	Data  []byte // little-endian
}

// Tensor is a row-major array of float32.
type Tensor struct {
	Shape []int
	Data  []float32
}

// widths is bytes by type.
var widths = map[string]int64{"F32": 4, "F64": 8, "I32": 4, "I64": 8}

// maxHeader is the longest header that the format allows.
const maxHeader = 100_000_000

// entry is an array in the header.
type entry struct {
	Type    string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// header is the object at the beginning of a file.
type header struct {
	Metadata map[string]string `json:"__metadata__,omitempty"`
	Entries  map[string]entry  `json:",embed"`
}

// Read returns the arrays of a whole file in the order of their data, which they share, and the metadata.
func Read(file []byte) (arrays []Array, metadata map[string]string, err error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("safetensors: %d bytes: too short for a length: %w", len(file), ErrFormat)
	}
	length := binary.LittleEndian.Uint64(file)
	if length > maxHeader || length > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d: %w", length, len(file), ErrFormat)
	}
	data := file[8+length:]
	var h header
	if err := json.Unmarshal(file[8:8+length], &h); err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %w: %w", err, ErrFormat)
	}
	names := slices.SortedFunc(maps.Keys(h.Entries), func(a, b string) int {
		x, y := h.Entries[a].Offsets, h.Entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	at := int64(0)
	for _, name := range names {
		e := h.Entries[name]
		if err := e.check(name); err != nil {
			return nil, nil, err
		}
		if e.Offsets[0] != at || e.Offsets[1] > int64(len(data)) {
			return nil, nil,
				fmt.Errorf("safetensors: arrays leave a hole, overlap or end beyond the file at byte %d of %d: %w", at,
					len(data), ErrFormat)
		}
		arrays = append(arrays, Array{name, e.Type, e.Shape, data[at:e.Offsets[1]:e.Offsets[1]]})
		at = e.Offsets[1]
	}
	if at != int64(len(data)) {
		return nil, nil, fmt.Errorf("safetensors: arrays end at byte %d of %d: %w", at, len(data), ErrFormat)
	}
	return arrays, h.Metadata, nil
}

// check checks type and shape.
func (e entry) check(name string) error {
	width := widths[e.Type]
	if width == 0 {
		return fmt.Errorf("safetensors: %q: dtype = %q: must be F32, F64, I32 or I64: %w", name, e.Type, ErrFormat)
	}
	if size, ok := product(e.Shape, width); !ok || e.Offsets[0] < 0 || e.Offsets[1]-e.Offsets[0] != size {
		return fmt.Errorf("safetensors: %q: shape = %v of %s in bytes %v: must fit: %w", name, e.Shape, e.Type,
			e.Offsets, ErrFormat)
	}
	return nil
}

// product is width times the sizes, unless one is negative or the product too large.
func product(shape []int, width int64) (int64, bool) {
	for _, s := range shape {
		if s < 0 || s > 0 && width > math.MaxInt32*16/int64(s) {
			return 0, false
		}
		width *= int64(s)
	}
	return width, true
}

// Write writes a file: the arrays of the widest types first, which keeps each in line with its elements, and else in
// their order. It returns an error where names are equal, or shapes and types do not fit the data.
func Write(w io.Writer, arrays []Array, metadata map[string]string) error {
	arrays = slices.SortedStableFunc(slices.Values(arrays),
		func(a, b Array) int { return cmp.Compare(widths[b.Type], widths[a.Type]) })
	h, at := header{metadata, map[string]entry{}}, int64(0)
	for _, a := range arrays {
		size, ok := product(a.Shape, widths[a.Type])
		if _, twice := h.Entries[a.Name]; twice || !ok || widths[a.Type] == 0 || size != int64(len(a.Data)) {
			return fmt.Errorf("safetensors: %q: %d bytes of %s%v: must fit, and no two arrays be named so", a.Name,
				len(a.Data), a.Type, a.Shape)
		}
		h.Entries[a.Name] = entry{a.Type, a.Shape, [2]int64{at, at + size}}
		at += size
	}
	text, err := json.Marshal(h, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	parts := [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text}
	for _, a := range arrays {
		parts = append(parts, a.Data)
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Decode returns the float32 arrays of a whole file by name. I64 arrays are left out: batch counters, which networks
// are saved with and nobody needs. Those of another type are refused.
func Decode(file []byte) (map[string]Tensor, error) {
	arrays, _, err := Read(file)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Tensor)
	for _, a := range arrays {
		switch a.Type {
		case "F32":
			x := make([]float32, len(a.Data)/4)
			_, _ = binary.Decode(a.Data, binary.LittleEndian, x) // of as many bytes it does not fail
			out[a.Name] = Tensor{a.Shape, x}
		case "F64", "I32":
			return nil, fmt.Errorf("safetensors: %q: dtype = %q: must be F32, or I64, which is left out: %w", a.Name,
				a.Type, ErrFormat)
		}
	}
	return out, nil
}

// Encode returns the file of these arrays, in the order of their names. It panics where a shape does not fit its data.
func Encode(tensors map[string]Tensor) []byte {
	var arrays []Array
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		data, _ := binary.Append(nil, binary.LittleEndian, tensors[name].Data) // of numbers it does not fail
		arrays = append(arrays, Array{Name: name, Type: "F32", Shape: tensors[name].Shape, Data: data})
	}
	var b bytes.Buffer
	if err := Write(&b, arrays, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}
