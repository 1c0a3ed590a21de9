package neighbour_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"coupling/lab/device/cpu"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/score/eval/neighbour"
)

func Example() {
	points := cpu.Dense([]float64{0, 1, 3, 7}, 4, 1)
	query := cpu.Dense([]float64{2.5}, 1, 1)
	found, _ := neighbour.Search[float64]{K: 2}.Find(context.Background(), query, points)
	fmt.Println(found.Index, found.Square)
	among, _ := neighbour.Search[float64]{Self: true}.Find(context.Background(), points, points)
	fmt.Println(among.Index)
	// Output:
	// [2 1] [0.25 2.25]
	// [1 0 1 2]
}

// Sorting all distances says the same. Coordinates are small integers, so that distances are exact and ties are common.
func TestAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, d := rapid.IntRange(0, 5).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "m"),
			rapid.IntRange(1, 4).Draw(t, "d")
		k := rapid.IntRange(1, m).Draw(t, "k")
		draw := func(name string, n int) cpu.Matrix[float32] {
			x := rapid.SliceOfN(rapid.IntRange(-2, 2), n*d, n*d).Draw(t, name)
			f := make([]float32, len(x))
			for i, v := range x {
				f[i] = float32(v)
			}
			return cpu.Dense(f, n, d)
		}
		x, y := draw("x", n), draw("y", m)
		found := must.Get(neighbour.Search[float32]{K: k}.Find(t.Context(), x, y))
		radii := make([]float32, m)
		for j := range radii {
			radii[j] = float32(j)
		}
		counts := must.Get(neighbour.Cover(t.Context(), x, y, radii))
		for i := range n {
			order, count := make([]int32, m), 0
			for j := range order {
				order[j] = int32(j)
				if square(x, i, y, j) <= float64(radii[j]) {
					count++
				}
			}
			slices.SortStableFunc(order, func(a, b int32) int {
				return int(square(x, i, y, int(a)) - square(x, i, y, int(b)))
			})
			if diff := cmp.Diff(order[:k], found.Index[i*k:(i+1)*k]); diff != "" {
				t.Fatalf("query %d: %s", i, diff)
			}
			if count != counts[i] {
				t.Fatalf("query %d is in %d balls, want %d", i, counts[i], count)
			}
		}
	})
}

func square(x cpu.Matrix[float32], i int, y cpu.Matrix[float32], j int) (sum float64) {
	for k := range x.Cols {
		d := float64(x.Data[i*x.Cols+k]) - float64(y.Data[j*x.Cols+k])
		sum += d * d
	}
	return sum
}

// Over many tiles: every point finds its copy among shuffled points far from the origin, at exactly zero.
func TestCopiesAtZero(t *testing.T) {
	const n, d = 3000, 7
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, order := make([]float32, n*d), make([]float32, n*d), rng.Perm(n)
	for i := range x {
		x[i] = 1000 + rng.Float32()
	}
	for i, j := range order {
		copy(y[j*d:(j+1)*d], x[i*d:])
	}
	found := must.Get(neighbour.Search[float32]{}.Find(t.Context(), cpu.Dense(x, n, d), cpu.Dense(y, n, d)))
	for i, j := range order {
		if int(found.Index[i]) != j || found.Square[i] != 0 {
			t.Fatalf("row %d: found %d at %v, want %d at 0", i, found.Index[i], found.Square[i], j)
		}
	}
}

func TestRefusals(t *testing.T) {
	x := cpu.Dense([]float64{1, 2, 3}, 3, 1)
	bad := cpu.Dense([]float64{1, math.NaN(), 3}, 3, 1)
	for name, err := range map[string]error{
		"K of all": must.Err(neighbour.Search[float64]{K: 3, Self: true}.Find(t.Context(), x, x)),
		"negative": must.Err(neighbour.Search[float64]{K: -1}.Find(t.Context(), x, x)),
		"NaN":      must.Err(neighbour.Search[float64]{}.Find(t.Context(), x, bad)),
		"columns":  must.Err(neighbour.Search[float64]{}.Find(t.Context(), x, cpu.Dense([]float64{1, 2}, 1, 2))),
		"radii":    must.Err(neighbour.Cover(t.Context(), x, x, []float64{1})),
	} {
		if !errors.Is(err, neighbour.ErrArgument) {
			t.Errorf("%s: %v, want ErrArgument", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (neighbour.Search[float64]{}).Find(ctx, x, x); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
