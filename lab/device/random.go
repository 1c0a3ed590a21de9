package device

// Stream is a stream of random numbers, Philox4x32-10 with its state on the device, so that a replayed Graph draws
// new numbers. One seed gives the same numbers, bit for bit, on every device.
type Stream struct {
	state *Array
}

// Stream returns the stream of a seed, at its start. Free ends it.
func (d *Device) Stream(seed uint64) *Stream {
	return &Stream{state: d.FromInts([]int32{int32(uint32(seed)), int32(uint32(seed >> 32)), 0, 0}, 4)}
}

// Free frees the stream's state.
func (s *Stream) Free() { s.state.Free() }

// State is seed and position in blocks of four numbers, for checkpoints; or the device's error.
func (s *Stream) State() (seed, position uint64, err error) {
	w, err := s.state.GetInts()
	join := func(lo, hi int32) uint64 { return uint64(uint32(lo)) | uint64(uint32(hi))<<32 }
	return join(w[0], w[1]), join(w[2], w[3]), err
}

// Seek moves to a position that State gave.
func (s *Stream) Seek(seed, position uint64) {
	s.state.SetInts([]int32{int32(uint32(seed)), int32(uint32(seed >> 32)), int32(uint32(position)),
		int32(uint32(position >> 32))})
}

// Uniform fills dst with numbers uniform between lo and hi, 24 bits each, and moves the stream on. Rounding may
// reach lo or hi, but not 0 or 1 where those are lo and hi.
func (s *Stream) Uniform(dst *Array, lo, hi float64) {
	check("Uniform", dst).float().ints(s.state).do(func() { dst.ops().Uniform(dst.t, s.state.t, lo, hi) })
}

// Normal fills dst with Gaussian numbers and moves the stream on. The largest |z| is 5.9, the resolution that of
// float32: for experiments, not for releasing private data (see dp/noise).
func (s *Stream) Normal(dst *Array, mean, sigma float64) {
	check("Normal", dst).float().ints(s.state).
		do(func() { dst.ops().Normal(dst.t, s.state.t, mean, sigma) })
}
