package cuda

import "coupling/lab/device/internal/backend"

// CrossEntropy is the losses and their gradients.
func (g *gpu) CrossEntropy(loss, grad, logits, labels tensor) {
	n, k := logits.Shape[0], logits.Shape[1]
	g.mayFault = true
	g.launchOf("training", "cross_entropy", loss, grid{x: min(n, g.limits.blocks)}, loss, grad, logits, labels,
		block(g.faults), n, k)
}

// ClipRows scales rows to at most a norm.
func (g *gpu) ClipRows(dst, x tensor, bound float64) {
	n, d := x.Shape[0], x.Shape[1]
	g.launchOf("training", "clip_rows", dst, grid{x: min(n, g.limits.blocks)}, dst, x, n, d, bound)
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
func (g *gpu) update(kernel string, u backend.Update, t tensor, beta1, beta2 float64, constants ...any) {
	all, jobs := g.partsOf(u)
	launch := func(kernel string, p *parts, args ...any) {
		g.launchOf("training", kernel, u.Factor, grid{x: min(int(p.First[p.Count]), g.limits.blocks)},
			append([]any{record(p)}, args...)...)
	}
	sums, count := arg{size: 8}, 0
	if u.Clip > 0 {
		sums = g.borrow(max(1, jobs) * 8)
		for _, p := range all {
			launch("update_squares", p, sums, count)
			count += int(p.First[p.Count])
		}
	}
	g.launch("training", "tick", grid{x: 1}, t, t.Mem != nil, block(g.scratch), beta1, beta2, sums, count, u.Clip)
	for _, p := range all {
		launch(kernel, p, append([]any{block(g.scratch), u.Factor, u.Decay, len(u.Average) > 0}, constants...)...)
	}
}

// Adam makes a step.
func (g *gpu) Adam(u backend.Update, t tensor, a backend.Adam) {
	g.update("adam", u, t, a.Beta1, a.Beta2, a.Rate, a.Beta1, a.Beta2, a.Eps, a.Decay, a.Decoupled)
}

// SGD makes a step.
func (g *gpu) SGD(u backend.Update, s backend.SGD) {
	g.update("sgd", u, tensor{}, 0, 0, s.Rate, s.Momentum, s.Decay, s.Nesterov)
}
