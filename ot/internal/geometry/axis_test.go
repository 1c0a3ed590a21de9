package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
)

// Expect is the log-sum-exp and the mean over all pairs, one by one, whichever of its three ways it
// takes: for costs that are convex and that are not, from ε above their range to a millionth of it,
// smooth and rough potentials, and entries of −Inf.
func TestExpect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		power := rapid.SampledFrom([]float64{0, 1, 1.5, 2}).Draw(t, "power")
		inv := math.Pow(10, rapid.Float64Range(-4, 1).Draw(t, "1/ε"))
		var axes []*Axis
		n, m := 1, 1
		for range rapid.IntRange(1, 2).Draw(t, "axes") {
			rows, columns := rapid.IntRange(1, 70).Draw(t, "n"), rapid.IntRange(1, 70).Draw(t, "m")
			c := mat.NewDense(rows, columns, nil)
			c.Apply(func(i, j int, _ float64) float64 {
				if power == 0 {
					return 1000 * rng.Float64()
				}
				return math.Pow(math.Abs(float64(i-j)+.3), power)
			}, c)
			axes, n, m = append(axes, NewAxis(c)), n*rows, m*columns
		}
		h, field := make([]float64, m), make([]float64, m)
		rough := rapid.SampledFrom([]float64{0, 1, 1000}).Draw(t, "rough")
		bend := rapid.SampledFrom([]float64{0, .5, 2}).Draw(t, "bend")
		for j := range h {
			x := float64(j % 70)
			h[j] = bend*inv*x*x + rough*rng.NormFloat64()
			if field[j] = rng.NormFloat64(); rng.IntN(9) == 0 {
				h[j] = math.Inf(-1)
			}
		}
		withCost := rapid.Bool().Draw(t, "with cost")
		lse, mean := Expect(axes, h, field, inv, withCost, 2)
		alone, none := Expect(axes, h, nil, inv, false, 1)
		one, _ := Expect(axes, h, field, inv, withCost, 1)
		if none != nil {
			t.Fatal("a mean of nothing")
		}
		// Rounding of h and of c/ε: a block of sources has that of its largest.
		size := 10.
		for _, v := range h {
			if !math.IsInf(v, -1) {
				size = max(size, math.Abs(v))
			}
		}
		for _, x := range axes {
			size += mat.Max(x.cost) * inv
		}
		within := 4e-15 * size
		for i := range n {
			wantLSE, wantMean := overAll(axes, h, field, inv, withCost, i)
			for _, v := range []float64{lse[i], alone[i]} {
				if !(math.Abs(v-wantLSE) <= within) && v != wantLSE || one[i] != lse[i] {
					t.Fatalf("lse %v, with one worker %v, want %v within %v", v, one[i], wantLSE, within)
				}
			}
			scale := 5 + 1000*float64(len(axes))
			if !(math.Abs(mean[i]-wantMean) <= 4*within*scale) {
				t.Fatalf("mean %v, want %v within %v", mean[i], wantMean, within*scale)
			}
		}
	})
}

// overAll returns the log-sum-exp and the mean of source i.
func overAll(axes []*Axis, h, field []float64, inv float64, withCost bool, i int) (lse, mean float64) {
	x, cost := make([]float64, len(h)), make([]float64, len(h))
	top := math.Inf(-1)
	for j := range h {
		source, target := i, j
		for k := len(axes) - 1; k >= 0; k-- {
			rows, columns := axes[k].cost.Dims()
			cost[j] += axes[k].cost.At(source%rows, target%columns)
			source, target = source/rows, target/columns
		}
		x[j] = h[j] - cost[j]*inv
		top = max(top, x[j])
	}
	if math.IsInf(top, -1) {
		return top, 0
	}
	var sum float64
	for j, v := range x {
		e := math.Exp(v - top)
		sum += e
		if mean += e * field[j]; withCost {
			mean += e * cost[j]
		}
	}
	return top + math.Log(sum), mean / sum
}
