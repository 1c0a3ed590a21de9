package cuda

import "coupling/lab/device/internal/backend"

// CrossEntropy is the losses and their gradients.
func (g *gpu) CrossEntropy(loss, grad, logits, labels tensor) error {
	n, k := logits.Shape[0], logits.Shape[1]
	return g.do(func() error {
		g.mayFault = true
		return g.launchOf("training", "cross_entropy", loss, grid{x: min(n, g.limits.blocks)},
			array(loss), array(grad), array(logits), array(labels), block(g.faults), i64(n), i64(k))
	})
}

// ClipRows scales rows to at most a norm.
func (g *gpu) ClipRows(dst, x tensor, bound float64) error {
	n, d := x.Shape[0], x.Shape[1]
	return g.do(func() error {
		return g.launchOf("training", "clip_rows", dst, grid{x: min(n, g.limits.blocks)}, array(dst),
			array(x), i64(n), i64(d), f64(bound))
	})
}

// parts is the struct Parts of training.cu: arrays that one launch walks, in jobs of partJob elements.
type parts struct {
	Count         int32
	First         [maxParts + 1]int32
	Len           [maxParts]int64
	W, G, M, V, A [maxParts]uint64
}

const (
	maxParts = 64
	partJob  = 2048
)

// partsOf cuts an update into parts for one launch each.
func (g *gpu) partsOf(u backend.Update) (all []*parts, jobs int) {
	for i, w := range u.W {
		if i%maxParts == 0 {
			all = append(all, &parts{})
		}
		p := all[len(all)-1]
		k := p.Count
		set := func(to *[maxParts]uint64, from []tensor) {
			if len(from) > 0 {
				at := array(from[i])
				g.touch(at.mem)
				to[k] = at.bits
			}
		}
		set(&p.W, u.W)
		set(&p.G, u.G)
		set(&p.M, u.M)
		set(&p.V, u.V)
		set(&p.A, u.Average)
		n := (w.Len() + partJob - 1) / partJob
		p.Len[k], p.First[k+1] = int64(w.Len()), p.First[k]+int32(n)
		p.Count++
		jobs += n
	}
	return all, jobs
}

// update makes a step: one kernel counts it and computes the factor that shortens gradients, the next ones use that.
func (g *gpu) update(kernel string, u backend.Update, t tensor, beta1, beta2 float64, constants ...arg) error {
	return g.do(func() error {
		all, jobs := g.partsOf(u)
		launch := func(kernel string, p *parts, args ...arg) error {
			return g.launchOf("training", kernel, u.Factor,
				grid{x: min(int(p.First[p.Count]), g.limits.blocks)}, append([]arg{record(p)}, args...)...)
		}
		tick := func(sums arg, n int) error {
			return g.launch("training", "tick", grid{x: 1}, array(t), flag(t.Mem != nil), block(g.scratch), f64(beta1),
				f64(beta2), sums, i64(n), f64(u.Clip))
		}
		var err error
		if u.Clip == 0 {
			err = tick(arg{size: 8}, 0)
		} else {
			err = g.borrow(int64(max(1, jobs))*8, func(sums *memory) error {
				at := 0
				for _, p := range all {
					if err := launch("update_squares", p, block(sums), i64(at)); err != nil {
						return err
					}
					at += int(p.First[p.Count])
				}
				return tick(block(sums), jobs)
			})
		}
		for _, p := range all {
			if err == nil {
				err = launch(kernel, p,
					append([]arg{block(g.scratch), array(u.Factor), array(u.Decay), flag(len(u.Average) > 0)},
						constants...)...)
			}
		}
		return err
	})
}

// Adam makes a step.
func (g *gpu) Adam(u backend.Update, t tensor, a backend.Adam) error {
	return g.update("adam", u, t, a.Beta1, a.Beta2, f64(a.Rate), f64(a.Beta1), f64(a.Beta2), f64(a.Eps), f64(a.Decay),
		flag(a.Decoupled))
}

// SGD makes a step.
func (g *gpu) SGD(u backend.Update, s backend.SGD) error {
	return g.update("sgd", u, tensor{}, 0, 0, f64(s.Rate), f64(s.Momentum), f64(s.Decay), flag(s.Nesterov))
}
