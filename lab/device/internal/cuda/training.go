package cuda

import "coupling/lab/device/internal/backend"

// CrossEntropy is the losses and their gradients.
func (g *gpu) CrossEntropy(loss, grad, logits, labels backend.Tensor) error {
	n, k := logits.Shape[0], logits.Shape[1]
	return g.do(func() error {
		g.mayFault = true
		return g.launch("training", "cross_entropy"+suffix(loss.Type), grid{x: min(n, maxBlocks)},
			array(loss), array(grad), array(logits), array(labels), block(g.faults), i64(n), i64(k))
	})
}

// ClipRows scales rows to at most a norm.
func (g *gpu) ClipRows(dst, x backend.Tensor, bound float64) error {
	n, d := x.Shape[0], x.Shape[1]
	return g.do(func() error {
		return g.launch("training", "clip_rows"+suffix(dst.Type), grid{x: min(n, maxBlocks)}, array(dst), array(x), i64(n), i64(d), f64(bound))
	})
}

// Adam makes a step: one kernel counts it, the next uses the count.
func (g *gpu) Adam(w, grad, m, v, t backend.Tensor, a backend.Adam) error {
	n := w.Len()
	return g.do(func() error {
		err := g.launch("training", "adam_tick", grid{x: 1}, array(t), block(g.scratch), f64(a.Beta1), f64(a.Beta2))
		if err != nil {
			return err
		}
		return g.each("training", "adam"+suffix(w.Type), n, array(w), array(grad), array(m), array(v), block(g.scratch), i64(n),
			f64(a.Rate), f64(a.Beta1), f64(a.Beta2), f64(a.Eps), f64(a.Decay), flag(a.Decoupled))
	})
}

// SGD makes a step.
func (g *gpu) SGD(w, grad, momentum backend.Tensor, s backend.SGD) error {
	n := w.Len()
	return g.do(func() error {
		return g.each("training", "sgd"+suffix(w.Type), n, array(w), array(grad), array(momentum), i64(n),
			f64(s.Rate), f64(s.Momentum), f64(s.Decay), flag(s.Nesterov))
	})
}

// EMA is avg = decay·avg + (1−decay)·w.
func (g *gpu) EMA(avg, w backend.Tensor, decay float64) error {
	n := w.Len()
	return g.do(func() error {
		return g.each("training", "ema"+suffix(avg.Type), n, array(avg), array(w), i64(n), f64(decay))
	})
}
