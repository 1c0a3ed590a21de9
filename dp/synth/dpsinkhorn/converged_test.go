package dpsinkhorn

import (
	"math/rand/v2"
	"testing"

	"coupling/dp/release"
	"coupling/dp/synth"
	"coupling/lab/must"
	"coupling/lab/nn/nntest"
)

// The converged mode's rows are the optimal assignment: each row of the gradient is that of one image.
func TestConverged(t *testing.T) {
	dev := nntest.CPU(t)
	rng := rand.New(rand.NewPCG(8, 8))
	const n, d = 6, 9
	x, hx := randomLabelled(rng, dev, n, d, 1)
	y, hy := randomLabelled(rng, dev, n, d, 1)
	private, _ := must.Get2(Loss{Scaling: Converged, Blur: 1e-3, Label: 1}.Gradient(x, y, 1))
	g := dense(private)
	used := map[int]bool{}
	for i := range n {
		// 2·(1/n)·2(x_i − y_j): the j that it belongs to.
		for j := range n {
			off := 0.
			for k := range d {
				off = max(off, abs(hx.At(i, k)-hy.At(j, k)-g.At(i, k)*n/4))
			}
			if off < 1e-2 {
				used[j] = true
			}
		}
	}
	if len(used) != n {
		t.Errorf("rows go to %d of %d images", len(used), n)
	}
}

func abs(v float64) float64 { return max(v, -v) }

// What a probe returns for one loss is what training would go along: its gradient of parameters, and it moves nothing.
func TestGradients(t *testing.T) {
	dev := nntest.CPU(t)
	tr := small()
	tr.Steps = 0
	made := must.Get(tr.Train(t.Context(), dev, bars(10), synth.Run{Key: release.SeededKey(6)}))
	g := made.(*Generator)
	before := weights(t, g.Params())
	y := Labelled{X: dev.From32(bars(4).Pixels(), 4, 784), Labels: bars(4).Labels}
	losses := []Loss{{L1: 1}, {L1: 1, Fresh: 1}, {L1: 1}}
	got := must.Get(g.Gradients(losses, y, 5, rand.New(rand.NewPCG(1, 1))))
	same, differ := true, false
	for i := range got[0] {
		same = same && got[0][i] == got[2][i]
		differ = differ || got[0][i] != got[1][i]
	}
	if !same || !differ {
		t.Errorf("equal losses agree: %v; others differ: %v", same, differ)
	}
	for i, v := range weights(t, g.Params()) {
		if v != before[i] {
			t.Fatalf("weight %d moved", i)
		}
	}
}
