// Package resume stores runs on their way, keeps a stored run from being taken for one with other
// arguments, and goes on from it.
package resume

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"

	"coupling/lab/nn"

	"gonum.org/v1/gonum/mat"
)

// Stamp describes a run in words. It is a train.Source of a checkpoint: stored with it, and refused where another is
// stored.
type Stamp string

// Of returns the stamp of arguments.
func Of(args ...any) Stamp { return Stamp(fmt.Sprint(args...)) }

// MarshalBinary implements encoding.BinaryMarshaler.
func (s Stamp) MarshalBinary() ([]byte, error) { return []byte(s), nil }

// UnmarshalBinary returns an error unless the same was stored.
func (s Stamp) UnmarshalBinary(b []byte) error {
	if string(b) != string(s) {
		return fmt.Errorf("the stored run is %q, this one %q", b, string(s))
	}
	return nil
}

// Points returns a short name of the rows of x: its sizes and a checksum.
func Points(x *mat.Dense) string {
	n, d := x.Dims()
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	for i := range n {
		_ = binary.Write(h, binary.LittleEndian, x.RawRowView(i)) // never fails
	}
	return fmt.Sprintf("%d×%d points %016x", n, d, h.Sum64())
}

// Weights returns a checksum of all values of parameters.
func Weights(params []*nn.Param) (string, error) {
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	for _, p := range params {
		values, err := p.Value.Float64s()
		if err != nil {
			return "", err
		}
		_ = binary.Write(h, binary.LittleEndian, values) // never fails
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}
