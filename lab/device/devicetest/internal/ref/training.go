package ref

import (
	"math"

	"coupling/lab/device"
)

// CrossEntropy is the losses of logits, n×k, and their gradient.
func CrossEntropy(logits []float64, k int, labels []int32) (loss, grad Result) {
	loss, grad = NewResult(len(labels)), NewResult(len(logits))
	for i, label := range labels {
		row := logits[i*k : (i+1)*k]
		total, top := lse(row)
		loss.Value[i] = total - row[label]
		loss.Scale[i] = 1 + math.Abs(top) + math.Abs(row[label])
		for j, v := range row {
			p := math.Exp(v - total)
			size := p
			if p > 0 {
				size *= 1 + math.Abs(top) + math.Abs(v) // the exponent is a difference of these
			}
			if int32(j) == label {
				p, size = p-1, size+1
			}
			grad.Value[i*k+j], grad.Scale[i*k+j] = p, size
		}
	}
	return loss, grad
}

// Adam is steps of Kingma and Ba (2015), algorithm 1, from zero moments, with the gradient that grad gives for w:
// w after each, and m and v at the end. Loshchilov and Hutter (2019), algorithm 2, is the decoupled decay.
func Adam(w float64, steps int, grad func(step int) float64, a device.Adam) (path, moments []float64, scale float64) {
	var m, v float64
	scale = math.Abs(w)
	for t := 1; t <= steps; t++ {
		g := grad(t)
		if !a.Decoupled {
			g += a.Decay * w
		}
		m = a.Beta1*m + (1-a.Beta1)*g
		v = a.Beta2*v + (1-a.Beta2)*g*g
		mHat, vHat := m/(1-math.Pow(a.Beta1, float64(t))), v/(1-math.Pow(a.Beta2, float64(t)))
		step := a.Rate * mHat / (math.Sqrt(vHat) + a.Eps)
		if a.Decoupled {
			step += a.Rate * a.Decay * w
		}
		w -= step
		path = append(path, w)
		scale += math.Abs(step) + math.Abs(w)
	}
	return path, []float64{m, v}, scale
}

// SGD is steps of gradient descent with momentum (Sutskever et al. 2013) in the form m = μm + g, w −= rate·m, or with
// Nesterov w −= rate·(g + μm).
func SGD(w float64, steps int, grad func(step int) float64, s device.SGD) (path, moments []float64, scale float64) {
	var m float64
	scale = math.Abs(w)
	for t := 1; t <= steps; t++ {
		g := grad(t) + s.Decay*w
		m = s.Momentum*m + g
		step := m
		if s.Nesterov {
			step = g + s.Momentum*m
		}
		w -= s.Rate * step
		path = append(path, w)
		scale += s.Rate*(math.Abs(g)+2*math.Abs(m)) + math.Abs(w)
	}
	return path, []float64{m}, scale
}
