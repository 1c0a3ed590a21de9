// Package safetensors reads files of named float32 arrays.
//
// A file is eight bytes with the little-endian length of a header, the header, and data. The header is a JSON object
// that maps each name to its type, shape and place in the data,
//
//	{"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {…}}
//
// As the format wants it, arrays cover the data without holes and overlaps. Here each must be little-endian F32, or I64,
// which is left out: batch counters, which networks are saved with and nobody needs. Anything else is an error that wraps
// ErrFormat, and no count of a header is believed before the bytes are there.
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
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrFormat is wrapped by every error about the content of a file.
var ErrFormat = errors.New("bad safetensors file")

// Tensor is a row-major array.
type Tensor struct {
	Shape []int
	Data  []float32
}

// maxHeader is the longest header that the format allows.
const maxHeader = 100_000_000

// entry is what the header says of an array.
type entry struct {
	Type    string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Decode returns the float32 arrays of a whole file.
func Decode(file []byte) (map[string]Tensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("safetensors: %d bytes: too short for a length: %w", len(file), ErrFormat)
	}
	length := binary.LittleEndian.Uint64(file)
	if length > maxHeader || length > uint64(len(file)-8) {
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d: %w", length, len(file), ErrFormat)
	}
	header, data := file[8:8+length], file[8+length:]
	entries, err := parse(header)
	if err != nil {
		return nil, err
	}
	if err := covers(entries, int64(len(data))); err != nil {
		return nil, err
	}
	out := make(map[string]Tensor)
	for name, e := range entries {
		if e.Type == "F32" {
			out[name] = Tensor{Shape: e.Shape, Data: floats(data[e.Offsets[0]:e.Offsets[1]])}
		}
	}
	return out, nil
}

// parse reads the header and checks types and shapes.
func parse(header []byte) (map[string]entry, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w: %w", err, ErrFormat)
	}
	delete(raw, "__metadata__")
	entries := make(map[string]entry)
	for name, text := range raw {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("safetensors: %q: %w: %w", name, err, ErrFormat)
		}
		width := map[string]int64{"F32": 4, "I64": 8}[e.Type]
		if width == 0 {
			return nil, fmt.Errorf("safetensors: %q: dtype = %q: must be F32, or I64, which is left out: %w", name, e.Type, ErrFormat)
		}
		if size, ok := product(e.Shape, width); !ok || e.Offsets[0] < 0 || e.Offsets[1]-e.Offsets[0] != size {
			return nil, fmt.Errorf("safetensors: %q: shape = %v of %s in bytes %v: must fit: %w", name, e.Shape, e.Type, e.Offsets, ErrFormat)
		}
		entries[name] = e
	}
	return entries, nil
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

// covers says whether the arrays cover so many bytes once.
func covers(entries map[string]entry, size int64) error {
	var places [][2]int64
	for _, e := range entries {
		places = append(places, e.Offsets)
	}
	slices.SortFunc(places, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	at := int64(0)
	for _, p := range places {
		if p[0] != at {
			return fmt.Errorf("safetensors: arrays leave a hole or overlap at byte %d: %w", at, ErrFormat)
		}
		at = p[1]
	}
	if at != size {
		return fmt.Errorf("safetensors: arrays end at byte %d of %d: %w", at, size, ErrFormat)
	}
	return nil
}

func floats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

// Encode is the file of these arrays, in the order of their names. It panics where a shape does not fit its data.
func Encode(tensors map[string]Tensor) []byte {
	entries, at := make(map[string]entry), int64(0)
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	var data bytes.Buffer
	for _, name := range names {
		t := tensors[name]
		size, ok := product(t.Shape, 4)
		if !ok || size != 4*int64(len(t.Data)) {
			panic(fmt.Sprintf("safetensors: %q: %d numbers of shape %v", name, len(t.Data), t.Shape))
		}
		entries[name] = entry{Type: "F32", Shape: append([]int{}, t.Shape...), Offsets: [2]int64{at, at + size}}
		at += size
		for _, v := range t.Data {
			data.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
	}
	header, err := json.Marshal(entries)
	if err != nil {
		panic(err) // of strings and integers: cannot happen
	}
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), data.Bytes()...)
}
