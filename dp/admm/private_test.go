package admm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/audit"
	"coupling/lab/must"

	"gonum.org/v1/gonum/floats"
)

// four are linear utilities of 4 edges.
func four(a, b, c, d float64) []admm.Utility {
	return []admm.Utility{admm.Linear{A: a}, admm.Linear{A: b}, admm.Linear{A: c}, admm.Linear{A: d}}
}

// spec is a node of 4 edges.
func spec(us []admm.Utility, b admm.Bounds, secret *admm.Secret) admm.Spec {
	return admm.Spec{Neighbours: []int{0, 1, 2, 3}, Utilities: us, Bounds: b, Secret: secret}
}

// lone returns a node of 4 edges and a question with a history: prices and amounts as if rounds had gone by.
func lone(us []admm.Utility, b admm.Bounds, eta float64, history *rand.Rand,
	secret *admm.Secret) (*admm.Node, admm.Question) {
	n := must.Get(admm.NewNode(spec(us, b, secret), admm.ADMM{Eta: eta, Rounds: 1000}))
	q := admm.Question{Round: 1, Eta: eta}
	for range 4 {
		q.Plan, q.Price = append(q.Plan, 3*history.NormFloat64()), append(q.Price, 4*history.NormFloat64())
	}
	return n, q
}

// utilities draws four, and the same but for one.
func neighbours(rng *rand.Rand, family string) (us, changed []admm.Utility, at int) {
	at = rng.IntN(4)
	for range 4 {
		us = append(us, utility(rng, family))
	}
	changed = append(changed, us...)
	changed[at] = utility(rng, family)
	return us, changed, at
}

// Over random utilities, bounds and histories, one changed parameter moves a decision by at most
// ρ/η. The density of what is shared, ∝ e^(−ζ|· − decision|) with ζ = ηα/ρ, changes by at most e^α
// then, by the triangle inequality: (21) of the paper.
func TestDecisionsMoveByTheSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	const slope = 5.0
	largest := 0.0
	for i := range 4000 {
		family := []string{"linear", "integer", "log", "saturating", "quadratic", "mixed"}[i%6]
		us, changed, _ := neighbours(rng, family)
		eta := math.Exp(2 * rng.NormFloat64())
		b := admm.Bounds{Min: 3 * rng.Float64()}
		b.Max = b.Min + 5*rng.Float64()
		seed := rng.Uint64()
		a, q := lone(us, b, eta, rand.New(rand.NewPCG(seed, 1)), nil)
		c, _ := lone(changed, b, eta, rand.New(rand.NewPCG(seed, 1)), nil)
		moved := eta * floats.Distance(must.Get(a.Answer(q)), must.Get(c.Answer(q)), 2)
		if largest = max(largest, moved); moved > slope*(1+1e-9) {
			t.Fatalf("%v to %v, η = %v: the decision moves by %v/η, more than ρ/η = %v/η", us, changed, eta,
				moved, slope)
		}
	}
	if largest < slope/2 {
		t.Errorf("the largest move is %v of %v: the test asks too little", largest, slope)
	}
}

// What a change of one parameter A by no more than r does to a decision is within Private.Range =
// r·Steepness, for B below and above 1, and comes close to it; taking r itself for the range of
// slopes would promise too much where B < 1.
func TestRangeOfParameters(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 5))
	for _, b := range []float64{.3, 2} {
		for name, make := range map[string]func(a float64) admm.Utility{
			"log":        func(a float64) admm.Utility { return admm.Log{A: a, B: b} },
			"saturating": func(a float64) admm.Utility { return admm.Saturating{A: a, B: b} },
			"quadratic":  func(a float64) admm.Utility { return admm.Quadratic{A: a, B: b} },
		} {
			const r = 2.0
			per, _ := admm.Steepness(make(1))
			bound, largest := admm.Private{Slope: 100, Range: r * per}.Sensitivity(), 0.0
			for i := range 2000 {
				us := []admm.Utility{make(5 * rng.Float64()), make(5 * rng.Float64()), make(5 * rng.Float64()), nil}
				a, eta := 3*rng.Float64(), math.Exp(3+rng.NormFloat64())
				seed := rng.Uint64()
				var out [2][]float64
				for world, a := range []float64{a, a + r} {
					us[3] = make(a)
					n, q := lone(us, admm.Bounds{Max: 20}, eta, rand.New(rand.NewPCG(seed, 1)), nil)
					if i%2 == 0 { // near 0, where slopes are steepest
						floats.Scale(.01, q.Plan)
						floats.Scale(.01, q.Price)
					}
					x := must.Get(n.Answer(q))
					out[world] = slices.Clone(x)
				}
				moved := eta * floats.Distance(out[0], out[1], 2)
				if largest = max(largest, moved); moved > bound*(1+1e-9) {
					t.Fatalf("%s, B = %v, η = %v: A from %v to %v moves the decision by %v/η, more than %v/η", name, b,
						eta, a, a+r, moved, bound)
				}
			}
			if largest < .5*bound {
				t.Errorf("%s, B = %v: the largest move is %v of %v: the test asks too little", name, b, largest, bound)
			}
		}
	}
}

// shared returns, for each round, how far what a node tells lies towards the world in which its
// fourth parameter is 5 and not 0: the worst case, in which no bound is tight and the decision
// moves by all of ρ/η.
func shared(rounds int, theta, zetaScale float64, key [32]byte) ([]float64, error) {
	const slope = 5
	secret := &admm.Secret{Alpha: .5 * zetaScale, Sensitivity: slope, Rounds: rounds, Key: key}
	n, err := admm.NewNode(spec(four(3, 3, 3, theta), admm.Bounds{Max: 1000}, secret), admm.ADMM{Rounds: rounds})
	if err != nil {
		return nil, err
	}
	q := admm.Question{Eta: 1, Plan: []float64{100, 100, 100, 100}, Price: make([]float64, 4)} // far from 0
	var losses []float64
	for q.Round = 1; q.Round <= rounds; q.Round++ {
		out, err := n.Answer(q)
		if err != nil {
			return nil, err
		}
		zero, one := 0.0, 0.0
		for i, v := range out {
			centre := q.Plan[i] - q.Price[i]
			a := []float64{3, 3, 3, 0}[i]
			b := []float64{3, 3, 3, slope}[i]
			zero += (v - centre - a) * (v - centre - a)
			one += (v - centre - b) * (v - centre - b)
		}
		losses = append(losses, math.Sqrt(zero)-math.Sqrt(one))
		for i, v := range out { // the other side always shares 100
			q.Plan[i], q.Price[i] = (v+100)/2, q.Price[i]+(v-100)/2
		}
	}
	return losses, nil
}

// An audit of the node itself, with the likelihood ratio as its attack, never refutes the account,
// for one round and for ten, at δ = 0 and beyond; and it does refute a node whose noise is a third
// of what it should be.
func TestAudit(t *testing.T) {
	for _, c := range []struct {
		rounds int
		delta  float64
		scale  float64
		broken bool
	}{{1, 0, 1, false}, {10, 1e-3, 1, false}, {1, 0, 3, true}, {10, 1e-3, 3, true}} {
		t.Run(fmt.Sprintf("%d rounds, scale %g", c.rounds, c.scale), func(t *testing.T) {
			if testing.Short() && c.rounds > 1 {
				t.Skip("one round shows it in short")
			}
			claimed := must.Get(account.Spend(t.Context(), .5, 4, c.rounds, c.delta))
			game := audit.TwoWorlds[float64]{
				Run: func(rng *rand.Rand, world bool) (float64, error) {
					theta := 0.0
					if world {
						theta = 5
					}
					var key [32]byte
					for i := range key {
						key[i] = byte(rng.Uint32())
					}
					losses, err := shared(c.rounds, theta, c.scale, key)
					return floats.Sum(losses), err
				},
				Score: func(loss float64) float64 { return loss }, Trials: 60_000 / (2 + c.rounds) * 3,
			}
			found := must.Get(game.Epsilon(context.Background(), rand.New(rand.NewPCG(1, 2)), c.delta))
			t.Logf("%v, claimed %.4g", found, claimed.Best().Epsilon)
			if found.Refutes(claimed.Best().Epsilon) != c.broken {
				t.Errorf("%v, claimed %v; noise is broken: %v", found, claimed.Best(), c.broken)
			}
			if !c.broken && found.Epsilon < claimed.Best().Epsilon/4 {
				t.Errorf("%v of %v: the attack is too weak to test anything", found, claimed.Best())
			}
		})
	}
}

// Noise has the law that is promised: the radius is Gamma(d, 1/ζ) of mean d/ζ, and repeats in a
// round that is done again.
func TestNoise(t *testing.T) {
	us, mean := four(1, 1, 1, 1), 0.0
	const n = 4000
	for i := range n {
		secret := &admm.Secret{Alpha: 2, Sensitivity: 5, Rounds: 1000, Key: [32]byte{byte(i), byte(i >> 8)}}
		private, q := lone(us, admm.Bounds{Max: 5}, .5, rand.New(rand.NewPCG(1, 1)), secret)
		plain, _ := lone(us, admm.Bounds{Max: 5}, .5, rand.New(rand.NewPCG(1, 1)), nil)
		x := must.Get(private.Answer(q))
		x = append([]float64(nil), x...)
		again, _ := private.Answer(q)
		if floats.Distance(x, again, 2) != 0 {
			t.Fatal("a round that is done again has other noise")
		}
		y, _ := plain.Answer(q)
		mean += floats.Distance(x, y, 2) / n
	}
	// d/ζ = 4/(0.5·2/5) = 20, with a standard deviation of √4/ζ = 10.
	if math.Abs(mean-20) > 4*10/math.Sqrt(n) {
		t.Errorf("mean radius %v, want 20", mean)
	}
}

// Noise is drawn afresh where anything differs that a decision comes of, its law included: another
// α with the same direction would only rescale the noise, and two messages would give the decision
// away. It repeats where nothing differs.
func TestNoiseIsOfAll(t *testing.T) {
	type message struct {
		admm.Spec
		admm.Question
	}
	noise := func(change func(m *message)) []float64 {
		m := message{spec(four(1, 2, 3, 4), admm.Bounds{Max: 9}, &admm.Secret{
			Alpha:       2,
			Sensitivity: 5,
			Rounds:      1000,
			Key:         [32]byte{7},
		}), admm.Question{Round: 3, Eta: 1, Plan: []float64{1, 2, 3, 4}, Price: []float64{4, 3, 2, 1}}}
		change(&m)
		var out [2][]float64
		for i, secret := range []*admm.Secret{m.Secret, nil} {
			m.Secret = secret
			n := must.Get(admm.NewNode(m.Spec, admm.ADMM{Rounds: 1000}))
			out[i] = must.Get(n.Answer(m.Question))
		}
		floats.Sub(out[0], out[1])
		return out[0]
	}
	one := noise(func(*message) {})
	if again := noise(func(*message) {}); !slices.Equal(again, one) {
		t.Error("the same message has other noise")
	}
	for name, change := range map[string]func(*message){
		"alpha":       func(m *message) { m.Secret.Alpha *= 2 },
		"sensitivity": func(m *message) { m.Secret.Sensitivity *= 2 },
		"eta":         func(m *message) { m.Eta *= 2 },
		"key":         func(m *message) { m.Secret.Key[31]++ },
		"side":        func(m *message) { m.ID.Side = admm.Source },
		"index":       func(m *message) { m.ID.Index++ },
		"round":       func(m *message) { m.Round++ },
		"plan":        func(m *message) { m.Plan = []float64{1, 2, 3, 4.000001} },
		"price":       func(m *message) { m.Price = []float64{4, 3.000001, 2, 1} },
		"decision":    func(m *message) { m.Utilities[2] = admm.Linear{A: 3.000001} },
		"degree": func(m *message) {
			m.Neighbours, m.Utilities = m.Neighbours[:3], m.Utilities[:3]
			m.Plan, m.Price = m.Plan[:3], m.Price[:3]
		},
	} {
		other := noise(change)
		n := len(other)
		cos := floats.Dot(other, one[:n]) / floats.Norm(other, 2) / floats.Norm(one[:n], 2)
		if math.Abs(cos) > 0.99 { // by chance: 1 in 500 in three dimensions, and the keys are fixed
			t.Errorf("another %s: the noise has the same direction (cosine %v)", name, cos)
		}
	}
}

// book is a ledger in memory.
type book struct {
	left     int
	known    map[[32]byte]bool
	releases []admm.Release
	err      error
}

func newBook(left int) *book { return &book{left: left, known: map[[32]byte]bool{}} }

func (b *book) Pay(r admm.Release, rounds int) error {
	switch {
	case b.err != nil:
		return b.err
	case b.known[r.ID]:
		return nil
	case b.left < max(rounds, 1):
		return admm.ErrBudget
	}
	b.left--
	b.known[r.ID] = true
	b.releases = append(b.releases, r)
	return nil
}

func (b *book) Rounds() int { return b.left + len(b.releases) }

// A release is paid for before it is made, and once; if it cannot be, nothing is told, not even without noise.
func TestLedgerIsAskedFirst(t *testing.T) {
	b := newBook(3)
	secret := &admm.Secret{Alpha: 2, Sensitivity: 5, Ledger: b}
	n := must.Get(admm.NewNode(spec(four(1, 2, 3, 4), admm.Bounds{Max: 9}, secret), admm.ADMM{Rounds: 3}))
	full := errors.New("the disk is full")
	b.err = full
	q := admm.Question{Round: 1, Eta: 1, Plan: make([]float64, 4), Price: make([]float64, 4)}
	if out, err := n.Answer(q); !errors.Is(err, full) || out != nil {
		t.Errorf("%v, %v: want nothing but the ledger's error", out, err)
	}
	b.err = nil
	for ; q.Round <= 3; q.Round++ {
		for range 2 {
			must.Get(n.Answer(q))
		}
	}
	for i, r := range b.releases {
		if r.Round != i+1 || r.Alpha != 2 || r.Sensitivity != 5 || r.Degree != 4 {
			t.Errorf("release %d: %+v", i, r)
		}
	}
	if len(b.releases) != 3 || b.left != 0 {
		t.Errorf("%d releases, %d left", len(b.releases), b.left)
	}
}

// A coordinator that never says that the private rounds are over gets no more releases than the
// rules have and the ledger pays for.
func TestNoReleaseAfterTheRounds(t *testing.T) {
	for _, ledger := range []*book{nil, newBook(3), newBook(1000)} {
		secret := &admm.Secret{Alpha: 2, Sensitivity: 5, Rounds: 1000}
		if ledger != nil {
			secret.Ledger = ledger
		}
		spec := admm.Spec{
			Neighbours: []int{0},
			Utilities:  []admm.Utility{admm.Linear{A: 1}},
			Bounds:     admm.Bounds{Max: 9},
			Secret:     secret,
		}
		n := must.Get(admm.NewNode(spec, admm.ADMM{Rounds: 3}))
		for round := 1; round <= 6; round++ {
			_, err := n.Answer(admm.Question{Round: round, Eta: 1, Plan: []float64{1}, Price: []float64{0}})
			if (round > 3) != errors.Is(err, admm.ErrBudget) {
				t.Errorf("%+v, round %d of 3: %v", ledger, round, err)
			}
		}
		if ledger != nil && len(ledger.releases) != 3 {
			t.Errorf("%d releases of 3", len(ledger.releases))
		}
	}
}

// Neighbours that share huge amounts make decisions that rounding moves further than the noise
// hides: then nothing is told.
func TestNoReleaseOfWhatIsRounded(t *testing.T) {
	for _, huge := range []float64{.8 * 0x1p56, 1e12, 1e300} {
		var out [2][]float64
		for world, theta := range []float64{3.9, 4.1} {
			b := newBook(9)
			spec := admm.Spec{
				ID:         admm.ID{Side: admm.Source},
				Neighbours: []int{0, 1},
				Utilities:  []admm.Utility{admm.Linear{A: theta}, admm.Linear{A: 3}},
				Bounds:     admm.Bounds{Max: 40},
			}
			plain := must.Get(admm.NewNode(spec, admm.ADMM{Rounds: 9}))
			spec.Secret = &admm.Secret{Alpha: 1, Sensitivity: 5, Ledger: b}
			private := must.Get(admm.NewNode(spec, admm.ADMM{Rounds: 9}))
			// a target shared huge
			q := admm.Question{
				Round: 2,
				Eta:   1,
				Plan:  []float64{huge / 2, huge / 2},
				Price: []float64{huge / 2, huge / 2},
			}
			out[world] = must.Get(plain.Answer(q))
			if shared, err := private.Answer(q); !errors.Is(err, admm.ErrParameter) || shared != nil ||
				len(b.releases) != 0 {
				t.Errorf("huge = %v: %v, %v, %d releases: want a refusal before it is paid for", huge, shared, err,
					len(b.releases))
			}
		}
		if moved := floats.Distance(out[0], out[1], 2); huge > 1e15 && huge < 1e20 && moved < 5 {
			t.Errorf("huge = %v: decisions move by %v only: the test asks too little", huge, moved)
		}
	}
}

// Budgets, slopes and rules that do not fit are refused, with the node named.
func TestPrivateRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := draw(rng, kind{Network: "complete", Utility: "linear"})
	ok := admm.Private{Budget: account.Budget{Alpha: 1}, Slope: 5}
	for i, c := range []struct {
		a  admm.ADMM
		q  admm.Private
		is error
	}{
		{admm.ADMM{}, ok, admm.ErrParameter},
		{admm.ADMM{Rounds: 10, Adapt: true}, ok, admm.ErrParameter},
		{admm.ADMM{Rounds: 10, Tail: 11}, ok, admm.ErrParameter},
		{admm.ADMM{Rounds: 10}, admm.Private{Budget: account.Budget{Alpha: 1}}, admm.ErrParameter},
		{admm.ADMM{Rounds: 10}, admm.Private{Budget: account.Budget{Alpha: 1}, Slope: .1}, admm.ErrParameter},
		{admm.ADMM{Rounds: 10}, admm.Private{Slope: 5}, account.ErrParameter},
		{admm.ADMM{Rounds: 10}, admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 9}, Slope: 5}, admm.ErrBudget},
	} {
		if _, err := c.a.SolvePrivate(t.Context(), p, c.q, rng); !errors.Is(err, c.is) {
			t.Errorf("%d: %v, want %v", i, err, c.is)
		}
	}
	steep := admm.Spec{Neighbours: []int{0}, Utilities: []admm.Utility{admm.Linear{A: 100}},
		Bounds: admm.Bounds{Max: 9}}
	for _, secret := range []admm.Secret{{Alpha: 1, Sensitivity: 5}, {Alpha: 1, Sensitivity: 100, Slope: 5},
		{Alpha: 1, Sensitivity: 5, Slope: math.NaN()}} {
		steep.Secret = &secret
		if _, err := admm.NewNode(steep, admm.ADMM{Rounds: 10}); !errors.Is(err, admm.ErrParameter) {
			t.Errorf("slope 100, %+v: %v", secret, err)
		}
	}
	q := ok
	q.Parameters, q.Range = 4, 4
	if s := q.Sensitivity(); s != 8 {
		t.Errorf("four parameters of range 4: sensitivity %v, want 8", s)
	}
}

// The plan after private rounds is feasible, near the optimum with little noise, and the same for
// every number of workers.
func TestPrivatePlan(t *testing.T) {
	p := draw(rand.New(rand.NewPCG(9, 9)), kind{Network: "complete", Utility: "quadratic"})
	plain := must.Get(admm.ADMM{}.Solve(t.Context(), p))
	var plans [][]float64
	for _, workers := range []int{1, 4} {
		r := must.Get(admm.ADMM{Rounds: 400, Workers: workers}.SolvePrivate(t.Context(), p,
			admm.Private{Budget: account.Budget{Alpha: 1e5}, Slope: 5}, rand.New(rand.NewPCG(1, 1))))
		if v := p.Violation(r.Plan); v > 1e-6 || r.Status != admm.Converged {
			t.Errorf("misses a bound by %v, %v", v, r.Status)
		}
		plans = append(plans, r.Plan)
	}
	if floats.Distance(plans[0], plans[1], 2) != 0 {
		t.Error("the number of workers changes the plan")
	}
	if d := floats.Distance(plans[0], plain.Plan, math.Inf(1)); d > .01 {
		t.Errorf("%v away from the plan without noise", d)
	}
}
