package device

import "coupling/lab/device/internal/backend"

// Adam holds the constants of a step of Adam (Kingma and Ba 2015, algorithm 1): weight decay is added to the gradient,
// or subtracts rate·decay·w when Decoupled (AdamW).
type Adam = backend.Adam

// SGD holds the constants of a step of gradient descent: m = momentum·m + g, w −= rate·m (PyTorch's convention).
type SGD = backend.SGD

// CrossEntropy writes the N losses log Σ_k e^{x_ik} − x_{i,label_i} of logits x, N×K, and their gradients
// softmax − onehot. A label out of range is ErrIndex, as every label is for K = 0; loss and grad then hold nothing that
// is the same on all devices.
func CrossEntropy(loss, grad, logits, labels *Array) {
	c := check("CrossEntropy", loss).float(grad, logits).ints(labels)
	c.shape("logits", logits, -1, -1)
	n, k := logits.t.Shape[0], logits.t.Shape[1]
	c.shape("loss", loss, n).shape("grad", grad, n, k).shape("labels", labels, n)
	c.do(func() error { return loss.d.b.CrossEntropy(loss.t, grad.t, logits.t, labels.t) })
}

// ClipRows scales each row of x, N×D, to Euclidean norm at most bound, rounding down: the norm of a row of dst,
// computed exactly, exceeds bound by no more than a few units in the last place. A row with NaN or an infinity has no
// norm: NaN is in what it becomes, and nothing larger than bound. dst may be x.
func ClipRows(dst, x *Array, bound float64) {
	c := check("ClipRows", dst).float(x).like(x).shape("x", x, -1, -1)
	if !(bound > 0) {
		c.fail("bound = %v: must be > 0", bound)
	}
	c.do(func() error { return dst.d.b.ClipRows(dst.t, x.t, bound) })
}

// StepAdam makes one step of Adam with all parameters w of a network together: each w[i] with its gradient g[i] and its
// moments m[i] and v[i], of one shape. w, m and v change; t, an int32 array of 1, counts; factor, an array of 1 of w's
// type, multiplies the rate. On a GPU that is two launches for up to 64 arrays.
func StepAdam(w, g, m, v []*Array, t, factor *Array, a Adam) {
	c := check("StepAdam", factor).float().shape("factor", factor, 1).ints(t).shape("t", t, 1)
	if len(g) != len(w) || len(m) != len(w) || len(v) != len(w) {
		c.fail("%d parameters, %d gradients, %d and %d moments: must be as many", len(w), len(g), len(m), len(v))
	}
	for i := range w {
		c.float(w[i], g[i], m[i], v[i])
		args{c.op, w[i]}.like(g[i], m[i], v[i])
	}
	c.do(func() error { return t.d.b.Adam(tensors(w), tensors(g), tensors(m), tensors(v), t.t, factor.t, a) })
}

func tensors(arrays []*Array) []backend.Tensor {
	all := make([]backend.Tensor, len(arrays))
	for i, a := range arrays {
		all[i] = a.t
	}
	return all
}

// StepSGD makes one step of gradient descent with momentum. factor, an array of 1, multiplies the rate.
func StepSGD(w, g, momentum, factor *Array, s SGD) {
	c := check("StepSGD", w).float(g, momentum, factor).like(g, momentum).shape("factor", factor, 1)
	c.do(func() error { return w.d.b.SGD(w.t, g.t, momentum.t, factor.t, s) })
}

// EMA is avg = decay·avg + (1 − decay)·w.
func EMA(avg, w *Array, decay float64) {
	c := check("EMA", avg).float(w).like(w)
	c.do(func() error { return avg.d.b.EMA(avg.t, w.t, decay) })
}
