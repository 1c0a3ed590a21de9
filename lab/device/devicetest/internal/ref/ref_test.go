package ref

import (
	"math"
	"testing"

	"coupling/lab/device"
)

// The references are held to finite differences, known answers and laws, so that they are not just another opinion.

func TestSlopeIsTheDerivative(t *testing.T) {
	const h = 1e-5
	for f := device.Identity; f <= device.Step; f++ {
		for _, p := range []float64{0.2, 1.5} {
			for x := 0.037; x < 3; x += 0.21 {
				for _, x := range []float64{x, -x} {
					if x < 0 && (f == device.Sqrt || f == device.Rsqrt || f == device.Log) || nearKink(f, x, p) {
						continue
					}
					got, _ := Slope(f, x, p)
					want := (Unary(f, x+h, p) - Unary(f, x-h, p)) / (2 * h)
					// h²/6·f''' with f''' up to 15/x^4 for 1/x and 1/√x, and the cancellation 2^-53·|f|/h
					tol := h*h*15*math.Max(1, math.Pow(math.Abs(x), -4)) + 1e-10*(1+math.Abs(Unary(f, x, p)))
					if math.Abs(got-want) > tol {
						t.Errorf("unary %d at %v with p = %v: slope %v, finite difference %v", f, x, p, got, want)
					}
				}
			}
		}
	}
}

func nearKink(f device.Unary, x, p float64) bool {
	for _, k := range Kinks(f, p) {
		if math.Abs(x-k) < 1e-3 {
			return true
		}
	}
	return false
}

// Slopes at kinks are those from the left.
func TestSlopeAtKinks(t *testing.T) {
	for f := device.Identity; f <= device.Step; f++ {
		for _, k := range Kinks(f, 0.7) {
			at, _ := Slope(f, k, 0.7)
			left, _ := Slope(f, k-1e-12, 0.7)
			if math.Abs(at-left) > 1e-11 { // p·eˣ moves by 1e-12
				t.Errorf("unary %d at its kink %v: slope %v, from the left %v", f, k, at, left)
			}
		}
	}
}

func TestSum(t *testing.T) {
	var s Sum
	for _, v := range []float64{1, 1e100, 1, -1e100} {
		s.Add(v)
	}
	if s.Value() != 2 || s.Size() != 2e100 {
		t.Errorf("got %v of size %v: must be 2 of 2e100", s.Value(), s.Size())
	}
	s = Sum{}
	s.AddProduct(1+0x1p-30, 1-0x1p-30) // 1 − 2^-60
	s.Add(-1)
	if s.Value() != -0x1p-60 {
		t.Errorf("got %v: must be -2^-60", s.Value())
	}
}

// The gradient of the plan's cost, Σ_ij P_ij·c_ij/…: of Σ_i log-sum-exp over x by finite differences.
func TestGrad(t *testing.T) {
	x, y := []float64{0.1, 0.7, -0.4, 0.2}, []float64{0.3, -0.5, 1, 0.25, 0.6, 0.9}
	h := []float64{-1, -0.5, -2}
	cost := device.Cost{Square: 1.5, Abs: 0.3}
	const inv, step = 2.0, 1e-6
	total := func(x []float64) float64 {
		p := Plan{N: 2, M: 3, Costs: Costs(x, y, 2, cost), H: h, Inv: inv}
		v := p.LSE().Value
		return v[0] + v[1]
	}
	p := Plan{N: 2, M: 3, Costs: Costs(x, y, 2, cost), H: h, Inv: inv}
	lse := p.LSE().Value
	p.U = []float64{-lse[0], -lse[1]}
	got := p.Grad(x, y, 2, cost, []float64{-inv, -inv}, []float64{0, 0, 0}, true).Value
	for k := range x {
		up, down := append([]float64(nil), x...), append([]float64(nil), x...)
		up[k] += step
		down[k] -= step
		want := (total(up) - total(down)) / (2 * step)
		if math.Abs(got[k]-want) > 1e-8 { // step² and 1e-16/step, times ten
			t.Errorf("coordinate %d: %v, finite difference %v", k, got[k], want)
		}
	}
}

func TestLSEOfNothing(t *testing.T) {
	if v, _ := ReduceAll(nil, device.LogSumExp); !math.IsInf(v, -1) {
		t.Errorf("got %v", v)
	}
	if v, _ := ReduceAll([]float64{math.Inf(-1), math.Inf(-1)}, device.LogSumExp); !math.IsInf(v, -1) {
		t.Errorf("got %v", v)
	}
	if v, _ := ReduceAll([]float64{3e200, 4e200}, device.Norm); math.Abs(v-5e200) > 2e-16*5e200 {
		t.Errorf("got %v", v)
	}
}

// log 2^-k = −k·log 2, also for denormal numbers, where the library errs.
func TestLogOfSmallNumbers(t *testing.T) {
	for k := 0; k <= 1074; k += 2 {
		got, want := Unary(device.Log, math.Ldexp(1, -k), 0), -float64(k)*math.Ln2
		if math.Abs(got-want) > 4e-16*math.Abs(want) { // two roundings
			t.Errorf("log 2^-%d = %v: must be %v", k, got, want)
		}
	}
}
