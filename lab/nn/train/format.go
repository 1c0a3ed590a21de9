package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"coupling/lab/device"
)

// A checkpoint file is, little-endian:
//
//	8 bytes   "CPLCKPT\n"
//	4 bytes   version, 1
//	4 bytes   length of the header
//	header    JSON: step, arrays (name, type, shape), streams, sources
//	arrays    their elements, in the order of the header, nothing between
//	32 bytes  SHA-256 of all before
//
// Every version starts with the same 12 bytes and ends with the checksum, which is looked at first: a version is only
// believed in a file that is whole.
const (
	magic   = "CPLCKPT\n"
	version = 1
	prefix  = len(magic) + 8
)

// snapshot is a checkpoint on the host.
type snapshot struct {
	Step    int64                `json:"step"`
	Arrays  []array              `json:"arrays"`
	Streams map[string][2]uint64 `json:"streams,omitempty"`
	Sources map[string][]byte    `json:"sources,omitempty"`
}

// array is one array; data is its elements in bytes.
type array struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
	data  []byte
}

// sizes is bytes by element type.
var sizes = map[string]int{"float32": 4, "float64": 8, "int32": 4}

// encode writes s and its checksum.
func encode(w io.Writer, s *snapshot) error {
	header, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sum := sha256.New()
	all := io.MultiWriter(w, sum)
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(header)))
	parts := [][]byte{head, header}
	for _, a := range s.Arrays {
		parts = append(parts, a.data)
	}
	for _, part := range parts {
		if _, err := all.Write(part); err != nil {
			return err
		}
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// decode reads what encode wrote; its arrays share data's memory.
func decode(data []byte) (*snapshot, error) {
	if len(data) < prefix+sha256.Size || !bytes.HasPrefix(data, []byte(magic)) {
		return nil, fmt.Errorf("%w: %d bytes that do not start as one", ErrCorrupt, len(data))
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return nil, fmt.Errorf("%w: the checksum is wrong: cut short or changed", ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(data[len(magic):]); v != version {
		return nil, fmt.Errorf("%w: %d, this program reads %d", ErrVersion, v, version)
	}
	length := int64(binary.LittleEndian.Uint32(data[len(magic)+4:]))
	rest := body[prefix:]
	if length > int64(len(rest)) {
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d", ErrCorrupt, length, len(data))
	}
	s := new(snapshot)
	if err := json.Unmarshal(rest[:length], s); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrCorrupt, err)
	}
	return s, s.slice(rest[length:])
}

// slice gives each array its part of the data, all of which must be taken.
func (s *snapshot) slice(data []byte) error {
	names := map[string]bool{}
	for i := range s.Arrays {
		a := &s.Arrays[i]
		n, ok := a.bytes(len(data))
		if !ok || names[a.Name] {
			return fmt.Errorf("%w: array %q, %s%v, of %d bytes left", ErrCorrupt, a.Name, a.Type, a.Shape, len(data))
		}
		names[a.Name] = true
		a.data, data = data[:n:n], data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrCorrupt, len(data))
	}
	return nil
}

// bytes is the size of the array, which must be at most limit.
func (a array) bytes(limit int) (n int, ok bool) {
	n, ok = sizes[a.Type]
	for _, s := range a.Shape {
		if !ok || s < 0 || s > 0 && n > limit/s {
			return 0, false
		}
		n *= s
	}
	return n, ok && n <= limit
}

// download is the bytes of an array.
func download(a *device.Array) ([]byte, error) {
	b := make([]byte, 0, a.Len()*a.Type().Size())
	switch a.Type() {
	case device.Float32:
		x, err := a.Get32()
		for _, v := range x {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b, err
	case device.Float64:
		x, err := a.Get64()
		for _, v := range x {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b, err
	default:
		x, err := a.GetInts()
		for _, v := range x {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return b, err
	}
}

// upload sets an array from bytes of its size.
func upload(a *device.Array, b []byte) {
	switch a.Type() {
	case device.Float32:
		x := make([]float32, len(b)/4)
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		a.Set32(x)
	case device.Float64:
		x := make([]float64, len(b)/8)
		for i := range x {
			x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		a.Set64(x)
	default:
		x := make([]int32, len(b)/4)
		for i := range x {
			x[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
		a.SetInts(x)
	}
}
