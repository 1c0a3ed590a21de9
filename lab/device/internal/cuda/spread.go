package cuda

import "coupling/lab/device/internal/backend"

// Where channels become fewer, at stride 1, y is a sum of shifted images W_i·x. Shifts by i·d − p gather; col2im
// scatters by o + i'·d − p': the same with the kernel turned round, i' = k − 1 − i, and p' = d(k−1) − p.

// narrowsOf reports whether multiplying first holds less than half of what unfolding first does, and can be done.
func (s geometry) narrowsOf() bool {
	w := s.turned()
	return 2*s.out*s.before <= s.in*s.after && !s.pointwise() && s.w.Stride == [2]int{1, 1} &&
		min(w.Pad[0], w.Pad[1]) >= 0
}

// turned is the window from y to x.
func (s geometry) turned() backend.Window {
	w := s.w
	for i := range 2 {
		w.Pad[i] = w.Dilation[i]*(w.Kernel[i]-1) - w.Pad[i]
	}
	return w
}

// spread is Conv.
func (s geometry) spread(y, x, weight tensor) {
	m := s.turn(weight)
	s.tiles(x, s.out*s.taps()*s.before, func(lo, hi int) {
		col := s.g.borrowTensor(x.Type, hi-lo, s.out*s.taps(), s.before)
		s.g.Gemm(col, 1, m, true, as(rowsOf(x, lo, hi), hi-lo, s.in, s.before), false, 0)
		s.g.col2im(rowsOf(y, lo, hi), col, s.turned())
	})
}

// spreadInput is ConvInput.
func (s geometry) spreadInput(dx, dy, weight tensor) {
	m := s.turn(weight)
	s.gather(dy, func(lo, hi int, col tensor) {
		s.g.Gemm(as(rowsOf(dx, lo, hi), hi-lo, s.in, s.before), 1, m, false, col, false, 0)
	})
}

// spreadWeight is ConvWeight.
func (s geometry) spreadWeight(dw, x, dy tensor) {
	turned := s.g.borrowTensor(dw.Type, s.in, s.out*s.taps())
	s.g.Fill(turned, 0)
	s.gather(dy, func(lo, hi int, col tensor) {
		s.addProducts(turned, as(rowsOf(x, lo, hi), hi-lo, s.in, s.before), col)
	})
	// back to the weight's own order
	ordered := s.g.borrowTensor(dw.Type, s.out, s.in, s.taps())
	reversed := s.g.borrowTensor(dw.Type, s.out, s.in, s.taps())
	s.g.Permute(ordered, as(turned, s.in, s.out, s.taps()), []int{1, 0, 2})
	s.g.Reverse(reversed, ordered)
	s.g.Combine(dw, dw, as(reversed, s.out, s.patch), backend.Add)
}

// gather calls f with the patches of dy that each pixel of x went to, some examples at a time.
func (s geometry) gather(dy tensor, f func(lo, hi int, col tensor)) {
	s.tiles(dy, s.out*s.taps()*s.before, func(lo, hi int) {
		col := s.g.borrowTensor(dy.Type, hi-lo, s.out*s.taps(), s.before)
		s.g.im2col(col, rowsOf(dy, lo, hi), s.turned())
		f(lo, hi, col)
	})
}

// turn returns a weight Out×In×taps as 1 × In × Out·taps with the taps reversed.
func (s geometry) turn(weight tensor) tensor {
	m := s.g.borrowTensor(weight.Type, 1, s.in, s.out*s.taps())
	s.g.round(func() {
		reversed := s.g.borrowTensor(weight.Type, s.out, s.in, s.taps())
		s.g.Reverse(reversed, as(weight, s.out, s.in, s.taps()))
		s.g.Permute(as(m, s.in, s.out, s.taps()), reversed, []int{1, 0, 2})
	})
	return m
}
