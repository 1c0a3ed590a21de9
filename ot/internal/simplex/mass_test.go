package simplex

import (
	"math"
	"math/big"
	"testing"

	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/ot/cost"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func (x Mass) big() *big.Int {
	v := new(big.Int).SetUint64(x.hi)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(x.lo))
}

func TestMassArithmetic(t *testing.T) {
	word := rapid.Uint64()
	rapid.Check(t, func(t *rapid.T) {
		x := Mass{word.Draw(t, "hi") >> 1, word.Draw(t, "lo")}
		y := Mass{word.Draw(t, "hi") >> 1, word.Draw(t, "lo")}
		n := rapid.UintRange(1, 63).Draw(t, "n")
		if got, want := x.Add(y).big(), new(big.Int).Add(x.big(), y.big()); got.Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v", x, y, got)
		}
		if got, want := x.Add(y).Sub(y), x; got != want {
			t.Fatalf("(%v + %v) − the same = %v", x, y, got)
		}
		if got, want := x.Less(y), x.big().Cmp(y.big()) < 0; got != want {
			t.Fatalf("%v < %v = %v", x, y, got)
		}
		if got, want := x.shr(n).big(), new(big.Int).Rsh(x.big(), n); got.Cmp(want) != 0 {
			t.Fatalf("%v >> %d = %v", x, n, got)
		}
		if got := x.shr(n).shl(n).shr(n); got != x.shr(n) {
			t.Fatalf("%v << %d", x.shr(n), n)
		}
		f, _ := new(big.Float).SetInt(x.big()).Float64()
		if got := x.float(); math.Abs(got-f) > 0x1p-52*f {
			t.Fatalf("float of %v = %v, want %v", x, got, f)
		}
	})
}

// TestToMass: the nearest integer, against arbitrary precision.
func TestToMass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.Float64Range(0, 1).Draw(t, "w")
		exp := rapid.IntRange(-3, 126).Draw(t, "exp")
		if rapid.Bool().Draw(t, "small") { // where 2^exp is above float64
			w, exp = math.Ldexp(1+w, -1001), exp+1000
		}
		v := new(big.Float).SetMantExp(big.NewFloat(w), exp).SetPrec(200)
		want, _ := v.Add(v, big.NewFloat(.5)).Int(nil)
		if got := toMass(w, exp).big(); got.Cmp(want) != 0 {
			t.Fatalf("%v·2^%d = %v, want %v", w, exp, got, want)
		}
	})
}

// TestQuantise: both measures end with exactly the same total, and no weight moves by more than balance asks.
func TestQuantise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1e-11, 1e-30, 1e3}))
		a := append(rapid.SliceOf(entry).Draw(t, "a"), 1)
		b := append(rapid.SliceOf(entry).Draw(t, "b"), 1)
		sumA, sumB := 0., 0.
		for _, w := range a {
			sumA += w
		}
		for _, w := range b {
			sumB += w
		}
		for j := range b {
			b[j] *= sumA / sumB
		}
		s := must.Get(Quantise(a, b))
		var totalA, totalB Mass
		for i, w := range s.A {
			totalA = totalA.Add(w)
			if d := math.Abs(s.Weight(w) - a[i]); d > 0x1p-52*a[i]+1e-28*sumA {
				t.Fatalf("a[%d] = %v became %v", i, a[i], s.Weight(w))
			}
		}
		for j, w := range s.B {
			totalB = totalB.Add(w)
			if d := math.Abs(s.Weight(w) - b[j]); d > 1e-14*b[j]+1e-28*sumA {
				t.Fatalf("b[%d] = %v became %v", j, b[j], s.Weight(w))
			}
		}
		if totalA != totalB {
			t.Fatalf("totals %v, %v", totalA, totalB)
		}
	})
}

// TestTree checks, after every pivot of a solve, that the thread, the sizes and the potentials are those of the
// parents.
func TestTree(t *testing.T) {
	s := pseudoRandom(t, 30, 25)
	s.start(s.transform(make([]float64, s.n)))
	for {
		consistent(t, s.tree)
		o, ok := s.entering()
		if !ok {
			break
		}
		before := s.value()
		s.tree.pivot(o.i, o.j, o.cost)
		s.pivots++
		if after := s.value(); after > before+1e-15 {
			t.Fatalf("pivot %d raised the value from %v to %v", s.pivots, before, after)
		}
	}
	if s.pivots < 20 {
		t.Errorf("only %d pivots", s.pivots)
	}
}

func pseudoRandom(t *testing.T, n, m int) *simplex {
	a, b := make([]float64, n), make([]float64, m)
	for i := range a {
		a[i] = 1 / float64(n)
	}
	for j := range b {
		b[j] = 1 / float64(m)
	}
	supply := must.Get(Quantise(a, b))
	c := mat.NewDense(n, m, nil)
	c.Apply(func(i, j int, _ float64) float64 { return math.Mod(math.Sqrt(float64(i*m+j+2))*1e3, 1) }, c)
	return newSimplex(t.Context(), cost.Dense(c), supply, nil, math.Inf(1))
}

func consistent(t *testing.T, tr *tree) {
	t.Helper()
	size := make([]int32, len(tr.node))
	depth := make([]int, len(tr.node))
	v := tr.root
	var order []int32
	for range tr.count {
		order = append(order, v)
		if w := tr.thread[v]; tr.node[w].back != v {
			t.Fatalf("back of %d is %d, not %d", w, tr.node[w].back, v)
		}
		if v != tr.root {
			depth[v] = depth[tr.node[v].parent] + 1
			if tr.node[v].flow.IsZero() {
				t.Fatalf("degenerate arc at %d", v)
			}
		}
		v = tr.thread[v]
	}
	if v != tr.root {
		t.Fatalf("the thread is no circle of %d nodes", tr.count)
	}
	for k := len(order) - 1; k >= 0; k-- {
		v := order[k]
		size[v]++
		last := order[k+int(size[v])-1]
		if tr.node[v].size != size[v] || tr.node[v].last != last {
			t.Fatalf("node %d: size %d, last %d; want %d, %d", v, tr.node[v].size, tr.node[v].last, size[v], last)
		}
		if v != tr.root {
			size[tr.node[v].parent] += size[v]
			i, j := v, tr.node[v].parent
			if int(v) >= tr.n {
				i, j = j, v
			}
			if r := tr.reduced(i, j-int32(tr.n), tr.node[v].cost); math.Abs(r) > 1e-13 {
				t.Fatalf("reduced cost %v of a tree arc at %d", r, v)
			}
		}
	}
}

// value returns the cost of the basis.
func (s *simplex) value() float64 {
	var sum Wide
	s.each(func(i, j int, w, c float64) { sum = sum.Add(w * c) })
	return sum.Hi
}
