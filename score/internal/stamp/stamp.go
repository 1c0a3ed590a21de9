// Package stamp keeps a checkpoint from being loaded by a run with other arguments.
package stamp

import (
	"fmt"
	"hash/crc64"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Stamp says in words what a run is. It is a train.Source of a checkpoint: stored with it, and refused where another is
// stored.
type Stamp string

// Of describes arguments.
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

// Points is a short name of the rows of x: its sizes and a checksum.
func Points(x *mat.Dense) string {
	n, d := x.Dims()
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	var word [8]byte
	for i := range n {
		for _, v := range x.RawRowView(i) {
			bits := math.Float64bits(v)
			for k := range word {
				word[k] = byte(bits >> (8 * k))
			}
			_, _ = h.Write(word[:]) // never fails
		}
	}
	return fmt.Sprintf("%d×%d points %016x", n, d, h.Sum64())
}
