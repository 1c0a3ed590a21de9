package device

import "coupling/lab/device/internal/backend"

// Adam holds the constants of a step of Adam (Kingma and Ba 2015, algorithm 1): weight decay is added to the gradient,
// or subtracts rate·decay·w when Decoupled (AdamW).
type Adam = backend.Adam

// SGD holds the constants of a step of gradient descent: m = momentum·m + g, w −= rate·m (PyTorch's convention).
type SGD = backend.SGD

// CrossEntropy writes the N losses log Σ_k e^{x_ik} − x_{i,label_i} of logits x, N×K, and their
// gradients softmax − onehot; grad may be logits. A label out of range is ErrIndex, as every label
// is for K = 0; loss and grad then hold nothing that is the same on all devices.
func CrossEntropy(loss, grad, logits, labels *Array) {
	c := check("CrossEntropy", loss).float(grad, logits).ints(labels)
	c.shape("logits", logits, -1, -1)
	n, k := logits.t.Shape[0], logits.t.Shape[1]
	c.apart(grad, logits).into(grad).over(logits)
	c.shape("loss", loss, n).shape("grad", grad, n, k).shape("labels", labels, n)
	c.do(func() { loss.ops().CrossEntropy(loss.t, grad.t, logits.t, labels.t) })
}

// ClipRows scales each row of x, N×D, to Euclidean norm at most bound, rounding down: the norm of a row of dst,
// computed exactly, exceeds bound by no more than a few units in the last place. A row with NaN or an infinity has no
// norm: NaN is in what it becomes, and nothing larger than bound. dst may be x.
func ClipRows(dst, x *Array, bound float64) {
	c := check("ClipRows", dst).float(x).like(x).over(x).shape("x", x, -1, -1)
	if !(bound > 0) {
		c.fail("bound = %v: must be > 0", bound)
	}
	c.do(func() { dst.ops().ClipRows(dst.t, x.t, bound) })
}

// Update is the parameters of a network that a step moves together: each W[i] with its gradient G[i], its moments M[i]
// and, of Adam, V[i], and its moving average, all of one shape. G is read, the others change.
type Update struct {
	W, G, M, V []*Array
	Average    []*Array // moving averages; empty: none
	Factor     *Array   // of 1, of W's type: multiplies the rate
	Decay      *Array   // of 1: Average = Decay·Average + (1 − Decay)·W after the step; nil without averages
	// Clip, unless 0, is the most that the Euclidean norm of all gradients together may be: they are taken times
	// min(1, Clip/(norm + 1e-6)), as PyTorch does. If one is NaN, all parameters become NaN.
	Clip float64
}

// StepAdam makes one step of Adam; t, an int32 array of 1, counts them. On a GPU that is two launches for up to 64
// arrays, three with clipping.
func StepAdam(u Update, t *Array, a Adam) {
	c := u.check("StepAdam", u.V).ints(t).shape("t", t, 1)
	c.do(func() { u.Factor.ops().Adam(u.tensors(), t.t, a) })
}

// StepSGD makes one step of gradient descent with momentum M. V is nil.
func StepSGD(u Update, s SGD) {
	c := u.check("StepSGD", u.M)
	c.do(func() { u.Factor.ops().SGD(u.tensors(), s) })
}

// check looks at all arrays; second is V where there must be one.
func (u Update) check(op string, second []*Array) args {
	c := check(op, u.Factor).float().shape("Factor", u.Factor, 1)
	if len(u.G) != len(u.W) || len(u.M) != len(u.W) || len(second) != len(u.W) ||
		len(u.Average) != 0 && len(u.Average) != len(u.W) {
		c.fail("%d parameters, %d gradients, %d and %d moments, %d averages: must be as many", len(u.W), len(u.G),
			len(u.M), len(second), len(u.Average))
	}
	if !(u.Clip >= 0) {
		c.fail("Clip = %v: must be at least 0", u.Clip)
	}
	if len(u.Average) > 0 {
		c.float(u.Decay).shape("Decay", u.Decay, 1)
	}
	in := map[*Array][]*Array{} // the arrays of each owner's memory
	for i, w := range u.W {
		parts := []*Array{w, u.G[i], u.M[i]}
		if len(u.V) > 0 {
			parts = append(parts, u.V[i])
		}
		if len(u.Average) > 0 {
			parts = append(parts, u.Average[i])
		}
		c.float(parts...).into(w).like(parts...)
		for _, part := range parts {
			owner := part.Owner()
			c.into(part).apart(in[owner]...).apart(u.Factor, u.Decay)
			in[owner] = append(in[owner], part)
		}
	}
	return c
}

func (u Update) tensors() backend.Update {
	t := backend.Update{
		W:       tensors(u.W),
		G:       tensors(u.G),
		M:       tensors(u.M),
		V:       tensors(u.V),
		Average: tensors(u.Average),
		Factor:  u.Factor.t,
		Clip:    u.Clip,
	}
	if u.Decay != nil {
		t.Decay = u.Decay.t
	}
	return t
}

func tensors(arrays []*Array) []backend.Tensor {
	all := make([]backend.Tensor, len(arrays))
	for i, a := range arrays {
		all[i] = a.t
	}
	return all
}
