// Package weights looks at the parameters of a network as a whole: for what a checkpoint must not hold, and what it is of.
package weights

import (
	"fmt"
	"hash/crc64"
	"math"

	"coupling/lab/device"
	"coupling/lab/nn"
)

// Finite returns an error that names the first parameter whose sum of squares is not finite, in its own type.
func Finite(params []*nn.Param) error {
	for _, p := range params {
		sum := p.Value.Device().New(p.Value.Type(), 1, 1)
		device.Reduce(sum, p.Value.Reshape(1, p.Value.Len()), device.SumSquares)
		v, err := sum.Float64s()
		sum.Free()
		if err != nil {
			return err
		}
		if math.IsNaN(v[0]) || math.IsInf(v[0], 0) {
			return fmt.Errorf("weights are not finite, %s first", p.Name)
		}
	}
	return nil
}

// Sum is a checksum of all values.
func Sum(params []*nn.Param) (string, error) {
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	var word [8]byte
	for _, p := range params {
		values, err := p.Value.Float64s()
		if err != nil {
			return "", err
		}
		for _, v := range values {
			bits := math.Float64bits(v)
			for k := range word {
				word[k] = byte(bits >> (8 * k))
			}
			_, _ = h.Write(word[:]) // never fails
		}
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}
