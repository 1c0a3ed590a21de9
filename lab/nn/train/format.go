package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"coupling/lab/device"
	"coupling/lab/nn/safetensors"
)

// A checkpoint file is in the format safetensors, so that NumPy and PyTorch open it. Its metadata have the rest:
//
//	coupling  JSON: version, step, streams, sources
//	sha256    of the file with zeros in place of these digits
//
// The checksum is looked at first: a version is only believed in a file that is whole.
const version = 2

var (
	noSum = strings.Repeat("0", 2*sha256.Size)
	// earlier begins files of version 1.
	earlier = []byte("CPLCKPT\n")
)

// snapshot is a checkpoint on the host.
type snapshot struct {
	Version int                 `json:"version"`
	Step    int64               `json:"step"`
	Arrays  []safetensors.Array `json:"-"`
	Sources map[string][]byte   `json:"sources,omitempty"`
}

// fileTypes is the format's name of a type of elements.
var fileTypes = map[device.DType]string{device.Float32: "F32", device.Float64: "F64", device.Int32: "I32"}

// encode writes s and its checksum.
func encode(w io.Writer, s *snapshot) error {
	s.Version = version
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	metadata, sum := map[string]string{"coupling": string(text), "sha256": noSum}, sha256.New()
	if err := safetensors.Write(sum, s.Arrays, metadata); err != nil {
		return err
	}
	metadata["sha256"] = hex.EncodeToString(sum.Sum(nil))
	return safetensors.Write(w, s.Arrays, metadata)
}

// decode reads what encode wrote; its arrays share data's memory.
func decode(data []byte) (*snapshot, error) {
	if bytes.HasPrefix(data, earlier) {
		return nil, fmt.Errorf("%w: an earlier version of this program wrote it: remove it to begin anew", ErrVersion)
	}
	arrays, metadata, err := safetensors.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	digits := []byte(metadata["sha256"])
	before, after, ok := bytes.Cut(data, digits)
	sum := sha256.New()
	for _, part := range [][]byte{before, []byte(noSum), after} {
		sum.Write(part)
	}
	if !ok || hex.EncodeToString(sum.Sum(nil)) != string(digits) {
		return nil, fmt.Errorf("%w: the checksum is wrong: cut short or changed", ErrCorrupt)
	}
	s := &snapshot{Arrays: arrays}
	if err := json.Unmarshal([]byte(metadata["coupling"]), s); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrCorrupt, err)
	}
	if s.Version != version {
		return nil, fmt.Errorf("%w: %d, this program reads %d", ErrVersion, s.Version, version)
	}
	return s, nil
}

// download is the bytes of an array.
func download(a *device.Array) ([]byte, error) {
	switch a.Type() {
	case device.Float32:
		return littleEndian(a.Get32())
	case device.Float64:
		return littleEndian(a.Get64())
	}
	return littleEndian(a.GetInts())
}

func littleEndian[T any](x []T, err error) ([]byte, error) {
	b, _ := binary.Append(nil, binary.LittleEndian, x) // of numbers it does not fail
	return b, err
}

// upload sets an array from bytes of its size.
func upload(a *device.Array, b []byte) {
	switch a.Type() {
	case device.Float32:
		a.Set32(numbers[float32](b))
	case device.Float64:
		a.Set64(numbers[float64](b))
	default:
		a.SetInts(numbers[int32](b))
	}
}

func numbers[T any](b []byte) []T {
	x := make([]T, len(b)/binary.Size(*new(T)))
	_, _ = binary.Decode(b, binary.LittleEndian, x) // of as many bytes it does not fail
	return x
}
