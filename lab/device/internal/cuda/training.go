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

// parts is the struct Parts of training.cu: arrays that one launch walks, in jobs of partJob elements.
type parts struct {
	Count      int32
	First      [maxParts + 1]int32
	Len        [maxParts]int64
	W, G, M, V [maxParts]uint64
}

const (
	maxParts = 64
	partJob  = 2048
)

// add takes in a parameter and what goes with it.
func (p *parts) add(g *gpu, n int, arrays ...backend.Tensor) {
	k := p.Count
	for i, to := range []*[maxParts]uint64{&p.W, &p.G, &p.M, &p.V} {
		at := array(arrays[i])
		g.touch(at.mem)
		to[k] = at.bits
	}
	p.Len[k] = int64(n)
	p.First[k+1] = p.First[k] + int32((n+partJob-1)/partJob)
	p.Count++
}

// Adam makes a step: one kernel counts it, the next ones use the count.
func (g *gpu) Adam(w, grad, m, v []backend.Tensor, t, factor backend.Tensor, a backend.Adam) error {
	return g.do(func() error {
		err := g.launch("training", "adam_tick", grid{x: 1}, array(t), block(g.scratch), f64(a.Beta1), f64(a.Beta2))
		if err != nil {
			return err
		}
		for lo := 0; lo < len(w); lo += maxParts {
			var p parts
			for k := lo; k < min(lo+maxParts, len(w)); k++ {
				p.add(g, w[k].Len(), w[k], grad[k], m[k], v[k])
			}
			err := g.launch("training", "adam"+suffix(factor.Type), grid{x: min(int(p.First[p.Count]), maxBlocks)}, record(&p),
				block(g.scratch), array(factor), f64(a.Rate), f64(a.Beta1), f64(a.Beta2), f64(a.Eps), f64(a.Decay), flag(a.Decoupled))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SGD makes a step.
func (g *gpu) SGD(w, grad, momentum, factor backend.Tensor, s backend.SGD) error {
	n := w.Len()
	return g.do(func() error {
		return g.each("training", "sgd"+suffix(w.Type), n, array(w), array(grad), array(momentum), array(factor), i64(n),
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
