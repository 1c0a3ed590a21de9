package noise

import "coupling/dp"

// Response is randomised response: a bit is reported truthfully with probability Truth in [1/2, 1],
// else its opposite. The probability is exact, because every float64 of that range is a multiple of
// 2^-53: the truth is reported if 64 fair bits are below Truth·2^64.
type Response struct{ Truth float64 }

// Tell answers for each bit, independently. It returns all answers or an error and nothing.
func (m Response) Tell(src Source, truth []bool) ([]bool, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if src == nil {
		return nil, failed("src = nil")
	}
	out := make([]bool, len(truth))
	for i, bit := range truth {
		u, err := src.Uint64()
		if err != nil {
			return nil, err
		}
		honest := m.Truth == 1 || u < uint64(m.Truth*0x1p64)
		out[i] = bit == honest
	}
	return out, nil
}

// Event is the event of one answer: a record that changes one bit.
func (m Response) Event() (dp.Event, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return dp.RandomizedResponse(m), nil
}

func (m Response) check() error {
	if !(m.Truth >= 0.5 && m.Truth <= 1) {
		return bad("Truth = %v: must be in [1/2, 1]", m.Truth)
	}
	return nil
}
