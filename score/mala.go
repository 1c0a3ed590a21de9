package score

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"coupling/score/internal/resume"

	"gonum.org/v1/gonum/mat"
)

// MALA is the Metropolis-adjusted Langevin algorithm: a Langevin step y = x + a s(x) + √(2a) z is a proposal, which is
// accepted with probability
//
//	α(x, y) = min(1, p(y) q(y→x) / p(x) q(x→y)),     q(x→y) ∝ exp(−|y − x − a s(x)|²/4a),
//
// so that p is exactly stationary whatever the step (Roberts and Tweedie 1996). The ratio of
// densities is LogRatio's: where the field has no density, an integral of its score. A network's
// score is not exactly a gradient; then p is stationary only as far as that integral does not
// depend on the path.
type MALA struct {
	Steps      int
	Step       float64 // > 0, in the Convention
	Convention Convention
	Sigma      float64 // the noise level
	// Path and Every say where and when the run is stored, as in Langevin; Steps may be increased
	// when resuming.
	Path  string
	Every int
	Trace func(Progress)
}

// Run moves the chain from its present step to Steps steps and returns the mean acceptance
// probability of the steps made, those of a stored run included; NaN if there were none. It resumes
// as Langevin.Run does. Cost: one evaluation of the field and two of its density a step, six of the
// field where there is no density.
func (m MALA) Run(ctx context.Context, f Field, c *Chain) (acceptance float64, err error) {
	if err := m.check(f, c); err != nil {
		return 0, err
	}
	n, d := c.X.Dims()
	f, done := Prepare(f, n)
	defer done()
	t := new(tally)
	checkpoints, err := newCheckpointer(m.Path, m.Every, m.stamp(), f, m.Sigma, c, t)
	if err != nil {
		return 0, err
	}
	if c.Done > m.Steps && m.Path != "" {
		return 0, bad("%s is %d steps far, the run has %d", m.Path, c.Done, m.Steps)
	}
	s, y, sy := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	if err := f.Score(s, c.X, m.Sigma); err != nil {
		return 0, err
	}
	alpha := make([]float64, n)
	drift := m.Convention.drift(m.Step)
	proposal := update{drift: drift, variance: 2 * drift}
	for c.Done < m.Steps {
		if err := ctx.Err(); err != nil {
			return t.mean(), checkpoints.interrupted(err)
		}
		c.move(y, s, proposal) // its noise is drawn before what accept draws
		if err := m.weigh(alpha, f, c.X, s, y, sy); err != nil {
			return 0, fmt.Errorf("step %d: %w", c.Done+1, err)
		}
		moved, mean := accept(c, s, y, sy, alpha)
		t.sum += mean
		t.steps++
		c.Done++
		c.note(Progress{
			Done:       c.Done,
			Total:      m.Steps,
			Sigma:      m.Sigma,
			Step:       m.Step,
			Score:      rms(s),
			Metropolis: true,
			Accepted:   moved,
		}, m.Trace)
		if checkpoints.due(c.Done, m.Steps) {
			if err := checkpoints.save(); err != nil {
				return t.mean(), err
			}
		}
	}
	return t.mean(), nil
}

// stamp names the dynamics.
func (m MALA) stamp() resume.Stamp {
	return resume.Of("MALA, steps of ", m.Step, ", convention ", int(m.Convention), " at noise level ", m.Sigma)
}

func (m MALA) check(f Field, c *Chain) error {
	if err := checkSigma(m.Sigma); err != nil {
		return err
	}
	return Langevin{Levels: []float64{m.Sigma}, Steps: m.Steps, Step: m.Step, Convention: m.Convention}.check(f, c)
}

// weigh writes the acceptance probabilities of the proposals y, and writes the scores at y to sy. A
// proposal where anything is not finite has probability 0.
func (m MALA) weigh(alpha []float64, f Field, x, s, y, sy *mat.Dense) error {
	if err := f.Score(sy, y, m.Sigma); err != nil {
		return err
	}
	if err := LogRatio(alpha, f, x, y, m.Sigma); err != nil {
		return err
	}
	drift := m.Convention.drift(m.Step)
	for i := range alpha {
		a, b, sa, sb := x.RawRowView(i), y.RawRowView(i), s.RawRowView(i), sy.RawRowView(i)
		forth, back := 0.0, 0.0
		for k := range a {
			u, v := b[k]-a[k]-drift*sa[k], a[k]-b[k]-drift*sb[k]
			forth += u * u
			back += v * v
		}
		alpha[i] = math.Exp(min(0, alpha[i]+(forth-back)/(4*drift)))
		if math.IsNaN(alpha[i]) {
			alpha[i] = 0
		}
	}
	return nil
}

// accept moves the points and scores of the chains whose coin accepts, and returns their share and
// the mean probability.
func accept(c *Chain, s, y, sy *mat.Dense, alpha []float64) (moved, mean float64) {
	n := len(alpha)
	took := make([]bool, n)
	coins := &Chain{X: c.X, Seed: mix(c.Seed)} // a separate stream
	coins.each(c.Done, func(i int, row []float64, rng *rand.Rand) {
		if rng.Float64() < alpha[i] {
			took[i] = true
			copy(row, y.RawRowView(i))
			copy(s.RawRowView(i), sy.RawRowView(i))
		}
	})
	for i := range n {
		mean += alpha[i]
		if took[i] {
			moved++
		}
	}
	return moved / float64(n), mean / float64(n)
}
