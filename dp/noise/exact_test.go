package noise

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
)

// words is a source of given words.
type words []uint64

func (w *words) Uint64() (uint64, error) {
	if len(*w) == 0 {
		return 0, failed("words: none left")
	}
	u := (*w)[0]
	*w = (*w)[1:]
	return u, nil
}

func seed(k uint64) Source { return Seeded(rand.New(rand.NewPCG(k, 7))) }

// The enclosure holds e^-x, and is a few units wide.
func TestExpNegEncloses(t *testing.T) {
	// e^-1 to 50 digits (OEIS A068985).
	want, _ := must.Get2(big.ParseFloat("0.36787944117144232159552377016146086744581113103177", 10, 200,
		big.ToNearestEven))
	lo, hi := expNeg(big.NewRat(1, 1), 128)
	scaled, _ := new(big.Float).SetMantExp(want, 128).Int(nil) // rounded down
	if lo.Cmp(scaled) > 0 || hi.Cmp(new(big.Int).Add(scaled, big.NewInt(1))) < 0 {
		t.Errorf("e^-1·2^128 = %v is not in [%v, %v]", scaled, lo, hi)
	}
	rapid.Check(t, checkExpNeg)
}

func checkExpNeg(t *rapid.T) {
	x := new(big.Rat).SetFrac64(rapid.Int64Range(0, 1<<40).Draw(t, "num"), rapid.Int64Range(1, 1<<40).Draw(t, "den"))
	n := uint(rapid.IntRange(1, 5).Draw(t, "words")) * 64
	lo, hi := expNeg(x, n)
	if w := new(big.Int).Sub(hi, lo); w.Sign() < 0 || w.Cmp(big.NewInt(3)) > 0 {
		t.Fatalf("x = %v: width %v", x, w)
	}
	f, _ := x.Float64()
	if want := math.Exp(-f); want > 1e-15 && n > 64 { // so that 3 units of 2^-n are less than float64 tells
		got, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(lo), -int(n)).Float64()
		if math.Abs(got/want-1) > 1e-15*(2+f) { // rounding of x and of math.Exp
			t.Fatalf("x = %v: %v, want %v", x, got, want)
		}
	}
	// A longer enclosure lies in the shorter one.
	lo2, hi2 := expNeg(x, n+64)
	if lo2.Rsh(lo2, 64).Cmp(lo) < 0 && x.Sign() > 0 || hi2.Rsh(hi2, 64).Cmp(hi) > 0 {
		t.Fatalf("x = %v: the enclosures of %d and %d bits do not nest", x, n, n+64)
	}
}

// The quick comparison and the exact one agree wherever the quick one decides, at the edge of its margin too.
func TestCompareAgreesWithSettle(t *testing.T) {
	for _, x := range []*big.Rat{big.NewRat(0, 1), big.NewRat(1, 1), big.NewRat(1, 3), big.NewRat(9, 10),
		big.NewRat(1, 1<<20), big.NewRat(50, 7), big.NewRat(40, 1), big.NewRat(3000, 1)} {
		f, _ := x.Float64()
		p, cubic := math.Exp(-f), 1-f+f*f/2-f*f*f/6
		for k, d := range []float64{-8, -1.001, -0.5, 0.5, 1.001, 8, -8, -1.001, 0, 1.001, 8, -8, -1.001, 0, 1.001, 8} {
			near := p
			if k >= 6 { // at the bounds of the quick comparison
				near = cubic + float64(k/11)*f*f*f*f/24
			}
			at := near*0x1p64 + d*margin
			if at < 0 || at >= 0x1p64 {
				continue
			}
			u := uint64(at)
			v, _ := must.Get2(compare(&words{u}, f))
			exact, err := decideExactly(&words{0, 0, 0}, u, 1, 0, x)
			if err != nil && v != unsure {
				t.Fatal(err)
			}
			if v != unsure && exact != (v == below) {
				t.Errorf("x = %v, u = %v%+g margins: quick %v, exact below %v", x, near, d, v, exact)
			}
			if k < 6 && math.Abs(d) < 1 && v != unsure {
				t.Errorf("x = %v, u = p%+g margins: verdict %v", x, d, v)
			}
		}
	}
}

// When the first 64 bits are those of e^-x itself, the rest decides with the fraction that is left.
func TestSettleUsesFurtherBits(t *testing.T) {
	x := big.NewRat(1, 3)
	lo, _ := expNeg(x, 128)
	first := new(big.Int).Rsh(lo, 64)
	rest, _ := new(big.Float).Quo(new(big.Float).SetInt(new(big.Int).Sub(lo, new(big.Int).Lsh(first, 64))),
		big.NewFloat(0x1p64)).Float64()
	src, hits, n := seed(1), 0.0, 20_000
	for range n {
		ok := must.Get(decideExactly(src, first.Uint64(), 1, 0, x))
		if ok {
			hits++
		}
	}
	if dev := math.Abs(hits/float64(n) - rest); dev > 4*math.Sqrt(rest*(1-rest)/float64(n)) { // 4 standard errors
		t.Errorf("settled below in %v of the cases, want %v", hits/float64(n), rest)
	}
}

func TestSettleEndsOnAStuckSource(t *testing.T) {
	if _, err := decideExactly(&words{}, 0, 1, 0, big.NewRat(1<<40, 1)); !errors.Is(err, ErrSource) {
		t.Errorf("no bits left: %v, want ErrSource", err)
	}
}

func TestFractionIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.Float64Range(coarsestInverse, 1/finest).Draw(t, "b")
		n, shift := fraction(b)
		if got := math.Ldexp(float64(n), -int(shift)); got != b || shift >= 64 {
			t.Fatalf("%v = %d/2^%d = %v", b, n, shift, got)
		}
	})
}

const coarsestInverse = 1 / coarsest

func TestQuotientIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 1<<53).Draw(t, "t")
		u := rapid.Uint64Range(0, n-1).Draw(t, "u")
		v := rapid.Uint64Range(0, 1<<16).Draw(t, "v")
		shift := rapid.UintRange(0, 63).Draw(t, "shift")
		want := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(v))
		want.Rsh(want.Add(want, new(big.Int).SetUint64(u)), shift)
		if want.Cmp(big.NewInt(endless)) > 0 {
			want.SetInt64(endless)
		}
		if got := quotient(u, n, v, shift); got != want.Int64() {
			t.Fatalf("(%d + %d·%d)/2^%d = %d, want %v", u, n, v, shift, got, want)
		}
	})
}

// By enumeration: Laplace probability times acceptance is the discrete Gaussian law, and the float64 exponent is within
// what compare allows.
func TestAcceptanceGivesGaussian(t *testing.T) {
	for _, s := range []float64{0.001, 0.3, 1, 2.7, 63.999, 1e3} {
		n := uint64(s) + 1
		reach := int64(20*s) + 3
		ref, largest := 0.0, 0.0
		for y := -reach; y <= reach; y++ {
			x, _ := exactExcess(y, s, n).Float64()
			if dev := math.Abs(math.Exp(-x) - math.Exp(-excess(y, s, n))); dev > 0x1p-48 { // see excess
				t.Errorf("s = %v, y = %d: e^-x is off by %v", s, y, dev)
			}
			log := -math.Abs(float64(y))/float64(n) - x + float64(y)*float64(y)/(2*s*s) // constant in y
			if y == -reach {
				ref, largest = log, x
			}
			if math.Abs(log-ref) > 1e-14*(1+largest) { // rounding of numbers of the size of x
				t.Errorf("s = %v, y = %d: log of the ratio to the Gaussian law is %v, elsewhere %v", s, y, log, ref)
			}
		}
	}
}
