package membership_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"coupling/data"
	_ "coupling/lab/draws"
	"coupling/lab/must"
	"coupling/score/eval/membership"
)

func ExampleMeasure() {
	r, err := membership.Measure([]float64{3, 2, 2}, []float64{2, 1})
	fmt.Printf("%.4f (%.2f–%.2f) %v %v\n", r.AUC, r.Lo, r.Hi, r.ROC, err)
	// Output: 0.8333 (0.31–0.98) [{0 0} {0 0.3333333333333333} {0.5 1} {1 1}] <nil>
}

func seed(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 13)) }

// clouds are images of 4×4 around a few centres, some of them crowded: distances differ from image to image whoever is
// a member.
func clouds(rng *rand.Rand, n int) *data.Images {
	m := must.Get(data.New(n, 1, 4, 4))
	for i := range n {
		centre := rng.IntN(4)
		for j := range m.Row(i) {
			m.Row(i)[j] = float32(centre%2) + float32(1+centre)*.1*float32(rng.NormFloat64())
		}
	}
	return m
}

// A generator that remembers is found out: exactly when it copies, nearly always when it adds a little noise.
func TestMemorising(t *testing.T) {
	members, others := clouds(seed(1), 300), clouds(seed(2), 400)
	noisy := must.Get(members.Scale(members.Lo, members.Hi))
	rng := seed(4)
	for i := range noisy.Pixels() {
		noisy.Pixels()[i] += .01 * float32(rng.NormFloat64())
	}
	for name, c := range map[string]struct {
		generated *data.Images
		auc       float64
	}{
		"copies": {members, 1},
		"noise":  {noisy, .85},
	} {
		r := must.Get(membership.Run(t.Context(), c.generated, members, others))
		t.Logf("%s: %v", name, r)
		if r.AUC < c.auc || r.Lo < c.auc-.05 || r.Hi < r.AUC {
			t.Errorf("%s: %v, want an AUC of %v or more", name, r, c.auc)
		}
	}
	r, err := membership.Run(t.Context(), members, members, others)
	if err != nil || r.At(0).TPR != 1 || r.Lo == 1 {
		t.Errorf("copies: %v, %v", r, err)
	}
}

// An independent sample tells nothing: over many of them the interval holds ½ about 95 times in 100, as long as
// members and others share the generated images, so coverage is not exact; of 100 rounds fewer than 88 would be
// 3 standard deviations below.
func TestIndependent(t *testing.T) {
	const rounds = 100
	inside, sum := 0, 0.
	for i := range rounds {
		rng := seed(uint64(100 + i))
		r := must.Get(membership.Run(t.Context(), clouds(rng, 60), clouds(rng, 80), clouds(rng, 100)))
		if r.Lo <= .5 && .5 <= r.Hi {
			inside++
		}
		sum += r.AUC / rounds
	}
	// The AUC has a deviation of √((80+101)/(12·80·100)) = .043, the mean of 100 of .0043.
	if inside < 88 || math.Abs(sum-.5) > 4*.0043 {
		t.Errorf("½ in %d of %d intervals, mean AUC %v", inside, rounds, sum)
	}
}

// The AUC is the share of pairs in order, the curve rises from corner to corner, and exchanging the groups mirrors it.
func TestROC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Map(rapid.IntRange(-3, 3), func(i int) float64 { return float64(i) }), 1, 12)
		in, out := scores.Draw(t, "members"), scores.Draw(t, "others")
		r := must.Get(membership.Measure(in, out))
		pairs := 0.
		for _, a := range in {
			for _, b := range out {
				switch {
				case a > b:
					pairs++
				case a == b:
					pairs += .5
				}
			}
		}
		if want := pairs / float64(len(in)*len(out)); math.Abs(r.AUC-want) > 1e-12 || r.Lo > r.AUC || r.Hi < r.AUC {
			t.Fatalf("AUC = %v in [%v, %v], want %v", r.AUC, r.Lo, r.Hi, want)
		}
		last := r.ROC[0]
		for _, p := range r.ROC[1:] {
			if p.FPR < last.FPR || p.TPR < last.TPR || p == last {
				t.Fatalf("%v after %v", p, last)
			}
			last = p
		}
		if last.FPR != 1 || last.TPR != 1 {
			t.Fatalf("ends at %v", last)
		}
		mirror, err := membership.Measure(out, in)
		if err != nil || math.Abs(mirror.AUC+r.AUC-1) > 1e-12 || math.Abs(mirror.Lo+r.Hi-1) > 1e-9 {
			t.Fatalf("exchanged: %v, %v; %v", mirror, err, r)
		}
	})
}

// Known rates: ten members above all others, ten below; Clopper and Pearson's interval of 10 of 20 is .272 to .728.
func TestAt(t *testing.T) {
	var in, out []float64
	for i := range 20 {
		in = append(in, float64(1000*(i%2)-500))
	}
	for i := range 200 {
		out = append(out, float64(i))
	}
	r := must.Get(membership.Measure(in, out))
	got := r.At(.01)
	got.Lo, got.Hi = math.Round(1000*got.Lo)/1000, math.Round(1000*got.Hi)/1000
	if diff := cmp.Diff(membership.Rate{Bound: .01, TPR: .5, Lo: .272, Hi: .728}, got); diff != "" {
		t.Error(diff)
	}
	if r.AUC != .5 || r.At(.001).TPR != .5 {
		t.Errorf("%+v", r)
	}
}

func TestRefusals(t *testing.T) {
	m := clouds(seed(1), 5)
	signed := must.Get(m.Scale(-1, 1))
	for name, err := range map[string]error{
		"range":   must.Err(membership.Run(t.Context(), signed, m, m)),
		"nothing": must.Err(membership.Run(t.Context(), m.Slice(0, 0), m, m)),
		"nobody":  must.Err(membership.Measure(nil, []float64{1})),
		"NaN":     must.Err(membership.Measure([]float64{math.NaN()}, []float64{1})),
	} {
		if !errors.Is(err, membership.ErrArgument) {
			t.Errorf("%s: %v, want ErrArgument", name, err)
		}
	}
}

// Scores that are in any order and of any size give an AUC in its interval.
func FuzzMeasure(f *testing.F) {
	f.Add(1., 2., 3., 4.)
	f.Add(math.Inf(1), math.Inf(-1), 0., math.Copysign(0, -1))
	f.Fuzz(func(t *testing.T, a, b, c, d float64) {
		r, err := membership.Measure([]float64{a, b}, []float64{c, d})
		nan := math.IsNaN(a) || math.IsNaN(b) || math.IsNaN(c) || math.IsNaN(d)
		if nan != (err != nil) || err == nil && !(0 <= r.Lo && r.Lo <= r.AUC && r.AUC <= r.Hi && r.Hi <= 1) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
