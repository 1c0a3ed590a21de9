package ot_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"coupling/ot"
)

// cloud draws n points of dimension d, standard normal times scale plus shift.
func cloud(rng *rand.Rand, n, d int, scale, shift float64) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	for i := range n {
		for k := range d {
			x.Set(i, k, shift+scale*rng.NormFloat64())
		}
	}
	return x
}

func simplex(rng *rand.Rand, n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = rng.ExpFloat64()
	}
	norm(w)
	return w
}

func meanOf(g ot.Geometry) float64 {
	c := ot.Cost(g)
	n, m := c.Dims()
	return mat.Sum(c) / float64(n*m)
}

// hardProblems are the inputs that break solvers.
func hardProblems() map[string]func() (ot.Problem, float64) {
	return map[string]func() (ot.Problem, float64){
		"small eps n=200": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(1, 1))
			g := ot.Points(cloud(rng, 200, 2, 1, 0), cloud(rng, 200, 2, 1.3, .4), ot.SqEuclidean)
			return ot.Problem{Geometry: g, A: simplex(rng, 200), B: simplex(rng, 200)}, 1e-3 * meanOf(g)
		},
		"small eps uniform assignment": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(2, 1))
			g := ot.Points(cloud(rng, 60, 2, 1, 0), cloud(rng, 60, 2, 1.3, .4), ot.SqEuclidean)
			return ot.Problem{Geometry: g}, 1e-3 * meanOf(g)
		},
		"cost outliers": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(3, 1))
			c := mat.NewDense(12, 10, nil)
			for i := range 12 {
				for j := range 10 {
					c.Set(i, j, rng.Float64())
					if (i+j)%5 == 0 {
						c.Set(i, j, 1e6*rng.Float64())
					}
				}
			}
			return ot.Problem{Geometry: ot.Dense(c), A: simplex(rng, 12), B: simplex(rng, 10)}, 0.2
		},
		"outlier row and column": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(4, 1))
			c := mat.NewDense(9, 11, nil)
			for i := range 9 {
				for j := range 11 {
					c.Set(i, j, rng.Float64())
					if i == 4 || j == 7 {
						c.Set(i, j, 1e6*(1+rng.Float64()))
					}
				}
			}
			return ot.Problem{Geometry: ot.Dense(c), A: simplex(rng, 9), B: simplex(rng, 11)}, 0.2
		},
		"tiny weights": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(5, 1))
			g := ot.Points(cloud(rng, 40, 2, 1, 0), cloud(rng, 30, 2, 1, 1), ot.SqEuclidean)
			a, b := simplex(rng, 40), simplex(rng, 30)
			for i := range 8 {
				a[5*i] *= 1e-11
				b[3*i] *= 1e-11
			}
			norm(a)
			norm(b)
			return ot.Problem{Geometry: g, A: a, B: b}, 0.02 * meanOf(g)
		},
		"decoupled blocks": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(6, 1))
			x, y := cloud(rng, 16, 2, 1, 0), cloud(rng, 16, 2, 1, 0)
			for i := range 8 {
				x.Set(i, 0, x.At(i, 0)+40)
				y.Set(i, 0, y.At(i, 0)+40)
			}
			return ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, 1.5
		},
		"unequal far blocks": func() (ot.Problem, float64) {
			rng := rand.New(rand.NewPCG(7, 1))
			x, y := cloud(rng, 16, 2, 1, 0), cloud(rng, 16, 2, 1, 0)
			for i := range 8 {
				x.Set(i, 0, x.At(i, 0)+40)
			}
			for i := range 7 {
				y.Set(i, 0, y.At(i, 0)+40)
			}
			return ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}, 1.5
		},
	}
}

func norm(w []float64) {
	var s float64
	for _, v := range w {
		s += v
	}
	for i := range w {
		w[i] /= s
	}
}

func TestHard(t *testing.T) {
	for name, make := range hardProblems() {
		for _, sv := range []string{"sinkhorn", "lbfgs", "newton"} {
			t.Run(name+"/"+sv, func(t *testing.T) {
				p, eps := make()
				var s ot.Solver
				switch sv {
				case "sinkhorn":
					s = ot.Sinkhorn{Eps: eps, Tol: 1e-9, MaxIter: 20000}
				case "lbfgs":
					s = ot.LBFGS{Eps: eps, Tol: 1e-12}
				case "newton":
					s = ot.Newton{Eps: eps, Tol: 1e-12}
				}
				t0 := time.Now()
				plan, err := s.Solve(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				el := time.Since(t0)
				T := plan.Matrix()
				n, m := T.Dims()
				var l1 float64
				for i := range n {
					l1 += math.Abs(mat.Sum(T.RowView(i)) - plan.A[i])
				}
				for j := range m {
					l1 += math.Abs(mat.Sum(T.ColView(j)) - plan.B[j])
				}
				fmt.Println(name, sv, plan.Status, plan.Iterations, plan.Evaluations, plan.MarginalL1, l1, el)
			})
		}
	}
}
