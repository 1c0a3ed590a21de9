package dp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// density returns the densities of P and Q on a fine grid of outcomes, from the definition of the
// sampling: no loss, threshold or moment of package pair is used.
func density(noise string, scale float64, wp, wq []float64, h float64) (p, q []float64) {
	reach := 1 + float64(max(len(wp), len(wq)))
	tail := 8 * scale
	if noise == "laplace" {
		tail = 25 * scale
	}
	for x := -reach - tail + h/2; x < reach+tail; x += h {
		f := func(d float64) float64 {
			if noise == "laplace" {
				return math.Exp(-math.Abs(d)/scale) / (2 * scale)
			}
			return math.Exp(-d*d/(2*scale*scale)) / (scale * math.Sqrt(2*math.Pi))
		}
		a, b := 0.0, 0.0
		for k, w := range wp {
			a += w * f(x-float64(k))
		}
		for k, w := range wq {
			b += w * f(x+float64(k))
		}
		p, q = append(p, a*h), append(q, b*h)
	}
	return p, q
}

// choose is C(n,k) by products.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}

func weights(sampling string, group, batch, size int, rate float64) []float64 {
	var w []float64
	switch sampling {
	case "none":
		w = make([]float64, group+1)
		w[group] = 1
	case "poisson", "with":
		n, r := group, rate
		if sampling == "with" {
			n, r = batch, float64(group)/float64(size)
		}
		for k := range n + 1 {
			w = append(w, choose(n, k)*math.Pow(r, float64(k))*math.Pow(1-r, float64(n-k)))
		}
	default:
		for k := range min(batch, group) + 1 {
			w = append(w, choose(group, k)*choose(size-group, batch-k)/choose(size, batch))
		}
	}
	return w
}

// brute sums max(p − e^ε q, 0) over the products of outcomes.
func brute(p, q []float64, times int, eps float64) float64 {
	grow := math.Exp(eps)
	sum := 0.0
	switch times {
	case 1:
		for i := range p {
			sum += max(0, p[i]-grow*q[i])
		}
	case 2:
		for i := range p {
			for j := range p {
				sum += max(0, p[i]*p[j]-grow*q[i]*q[j])
			}
		}
	}
	return sum
}

// Delta agrees with the definition, by brute force in outcomes, for one and two steps of any sampling, groups up to 32.
func TestBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 20))
	cases := 32
	if testing.Short() {
		cases = 12 // each noise with each sampling
	}
	for i := range cases {
		noise := [...]string{"gaussian", "laplace", "gaussian"}[i%3]
		sampling := [...]string{"poisson", "without", "with", "none"}[i/3%4]
		times := 1 + i%2
		group := [...]int{1, 2, 4, 32, 8}[i%5]
		scale := (0.7 + 2*rng.Float64()) * max(1, float64(group)/6)
		rate, batch, size := 0.05+0.4*rng.Float64(), 3+rng.IntN(5), 100+rng.IntN(100)
		var m Event = Gaussian{scale}
		if noise == "laplace" {
			m = Laplace{scale}
		}
		r := Relation{Group: group, Kind: Removal}
		inserted := 0
		switch sampling {
		case "poisson":
			m = Poisson{rate, m}
		case "without":
			m = WithoutReplacement{batch, size, m}
			r.Kind, inserted = Substitution, group
		case "with":
			m = WithReplacement{batch, size, m}
			r.Kind, inserted = Substitution, group
		}
		wp, wq := weights(sampling, group, batch, size, rate), []float64{1}
		if inserted > 0 {
			wq = wp
		}
		h := [...]float64{scale / 1000, scale / 24}[times-1]
		if noise == "laplace" { // kinks on the grid's edges
			h = 1 / math.Ceil(1/h)
		}
		p, q := density(noise, scale, wp, wq, h)
		eps := 0.1 + 0.8*rng.Float64()
		t.Run(fmt.Sprintf("%s-%s-T%d-K%d", noise, sampling, times, group), func(t *testing.T) {
			got := must(Delta(t.Context(), Repeat{times, m}, r, eps))
			want := brute(p, q, times, eps)
			// The kink of max costs the square of the grid's step.
			if tol := 5e-3*want + 1e-9; math.Abs(got.Delta-want) > tol {
				t.Errorf("%v under %v: δ(%v) = %.10g (%v), by brute force %.10g", m, r, eps, got.Delta, got.Kind, want)
			}
		})
	}
}

// The same for randomised response, three steps, exactly: outcomes are bits.
func TestBruteForceResponse(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 21))
	for i := range 12 {
		truth, rate, group, times := 0.55+0.4*rng.Float64(), 0.5*rng.Float64(), 1+rng.IntN(32), 1+i%3
		hit := 1 - math.Pow(1-rate, float64(group))
		f := (1-hit)*truth + hit*(1-truth)
		eps := 0.3 * rng.Float64()
		want := 0.0
		for out := range 1 << times {
			p, q := 1.0, 1.0
			for b := range times {
				if out>>b&1 == 1 {
					p, q = p*f, q*truth
				} else {
					p, q = p*(1-f), q*(1-truth)
				}
			}
			want += max(0, p-math.Exp(eps)*q)
		}
		got, err := Delta(t.Context(), Repeat{times, Poisson{rate, RandomizedResponse{truth}}},
			Relation{Group: group, Kind: Removal}, eps)
		if err != nil || math.Abs(got.Delta-want) > 1e-11*want+1e-15 {
			t.Errorf("truth %v, rate %v, K = %d, T = %d: δ(%v) = %.15g, %v, by brute force %.15g", truth, rate, group,
				times, eps, got.Delta, err, want)
		}
	}
}
