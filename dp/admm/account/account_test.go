package account_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"coupling/dp"
	"coupling/dp/admm/account"
	"coupling/lab/must"
)

// The case of the notes to the paper: 2.23, 4.78 and 10.
func TestNotes(t *testing.T) {
	a := must.Get(account.Spend(t.Context(), .1, 4, 100, 1e-6))
	for name, x := range map[string][2]float64{"basic": {a.Basic.Epsilon, 10}, "optimal": {a.Optimal.Epsilon, 4.78},
		"numerical": {a.Numerical.Epsilon, 2.23}} {
		if math.Abs(x[0]-x[1]) > .01 {
			t.Errorf("%s: %v, want %v", name, x[0], x[1])
		}
	}
	if a.Numerical.Kind == dp.None || a.Optimal.Kind != dp.UpperBound || a.Best() != a.Numerical {
		t.Errorf("kinds %v and %v, best %v", a.Numerical.Kind, a.Optimal.Kind, a.Best())
	}
}

// The order of what each knows, and one round is one round.
func TestOrder(t *testing.T) {
	alphas := []float64{.01, 11, 13, 1000}
	if testing.Short() {
		alphas = alphas[:1]
	}
	for _, alpha := range alphas {
		for _, k := range []int{1, 200} {
			for _, d := range []int{1, 30} {
				a := must.Get(account.Spend(t.Context(), alpha, d, k, 1e-5))
				// Exact numbers are within 1e-8 of the truth, distributions within 1e-3.
				if a.Numerical.Epsilon > a.Optimal.Epsilon*(1+1e-3) || a.Optimal.Epsilon > a.Basic.Epsilon ||
					a.Best().Epsilon > alpha*float64(k)*(1+1e-15) {
					t.Errorf("α = %v, d = %d, K = %d: %v, %v, %v", alpha, d, k, a.Numerical.Epsilon, a.Optimal.Epsilon,
						a.Basic.Epsilon)
				}
			}
		}
	}
	a, err := account.Spend(t.Context(), .3, 4, 5, 0)
	if err != nil || math.Abs(a.Best().Epsilon-1.5) > 1e-12 {
		t.Errorf("δ = 0: %v, %v", a.Best(), err)
	}
}

// A budget pays for the rounds that it says and for no more.
func TestRounds(t *testing.T) {
	for _, b := range []account.Budget{{Alpha: .1, Epsilon: 1, Delta: 1e-6}, {Alpha: .5, Epsilon: 2},
		{Alpha: 1, Epsilon: .5}} {
		k := must.Get(b.Rounds(4))
		if k > 0 {
			if a, _ := account.Spend(t.Context(), b.Alpha, 4, k, b.Delta); a.Best().Epsilon > b.Epsilon*(1+1e-15) {
				t.Errorf("%+v pays for %d rounds, which cost %v", b, k, a.Best())
			}
		}
		if a, _ := account.Spend(t.Context(), b.Alpha, 4, k+1, b.Delta); a.Best().Epsilon <= b.Epsilon {
			t.Errorf("%+v pays for %d rounds, but %d cost %v", b, k, k+1, a.Best())
		}
	}
	for _, b := range []account.Budget{{}, {Alpha: math.Inf(1)}, {Alpha: 1, Epsilon: -1},
		{Alpha: 1, Epsilon: 1, Delta: 1}} {
		if _, err := b.Rounds(4); !errors.Is(err, account.ErrParameter) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// What was released before is paid for first, whatever it was: alike, of another ε, of another degree.
// By the sum, also at δ > 0, unless all of it is alike: the composition of kinds that were chosen by
// what was released would pay for more.
func TestAfter(t *testing.T) {
	other, alike := account.Past{Alpha: .9, Degree: 1, Times: 2}, account.Past{Alpha: .5, Degree: 2, Times: 1}
	for _, delta := range []float64{0, 1e-3} {
		b := account.Budget{Alpha: .5, Epsilon: 4, Delta: delta} // 4 − 1.8 pays for four of 0.5
		most, err := b.Rounds(2)
		if err != nil || delta > 0 && most <= 8 {
			t.Fatalf("%d, %v: want more than the sum pays for", most, err)
		}
		for _, c := range []struct {
			past []account.Past
			want int
		}{
			{[]account.Past{other}, 4}, {[]account.Past{alike, other}, 3}, {nil, most},
			{[]account.Past{alike}, most - 1},
			{[]account.Past{{Alpha: .9, Degree: 2, Times: 9}}, 0},
		} {
			if got, err := b.After(c.past, 2); got != c.want || err != nil {
				t.Errorf("δ = %v, after %+v: %d, %v, want %d", delta, c.past, got, err, c.want)
			}
		}
	}
	b := account.Budget{Alpha: .5, Epsilon: 4}
	if _, err := b.After([]account.Past{{Alpha: 1}}, 2); !errors.Is(err, account.ErrParameter) {
		t.Errorf("past of no rounds: %v", err)
	}
}

// Rounds of a tiny ε are composed as such: as responses, whose truth is rounded, they would cost less.
func TestTinyRounds(t *testing.T) {
	for alpha, rounds := range map[float64]int{1e-17: 1, 1e-8: 40} {
		a := must.Get(account.Spend(t.Context(), alpha, 3, rounds, 1e-30))
		if most := a.Basic.Epsilon; a.Optimal.Epsilon < most*(1-1e-8) || a.Optimal.Epsilon > most {
			t.Errorf("%d rounds of %v: %v, sum %v", rounds, alpha, a.Optimal.Epsilon, most)
		}
	}
}

func ExampleSpend() {
	a, err := account.Spend(context.Background(), 0.1, 4, 100, 1e-6)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("sum %.1f, optimal %.2f, of the noise itself %.2f\n", a.Basic.Epsilon, a.Optimal.Epsilon,
		a.Numerical.Epsilon)
	// Output: sum 10.0, optimal 4.77, of the noise itself 2.23
}
