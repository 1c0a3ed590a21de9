package eavesdrop

import (
	"fmt"
	"math"
	"slices"

	"coupling/dp/admm"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Attack estimates linear utility parameters from a record.
type Attack struct {
	// Lo and Hi are the range that parameters are known to lie in; Lo < Hi.
	Lo, Hi float64
	// Zeta is the ζ of the noise, which is public: η·α_p/ρ. The attack then minimises minus the log
	// of the posterior density, ζ Σ‖residual‖ + ‖θ − middle‖²/2V, V being the variance of uniform
	// parameters in the range; by reweighted least squares. Zero stands for no noise, Σ‖residual‖².
	Zeta float64
}

// maxSteps is the most steps of Gauss-Newton.
const maxSteps = 60

// Node estimates the parameters of one node, one for each edge in the order of Spec.Neighbours.
// Parameters that the messages do not determine stay at the middle of the range. Errors: an empty
// record, an empty range. Cost: a step is O(rounds · d² + d³).
func (a Attack) Node(r *Record, id admm.ID) ([]float64, error) {
	if !(a.Lo < a.Hi) || math.IsInf(a.Lo, 0) || math.IsInf(a.Hi, 0) {
		return nil, fmt.Errorf("eavesdrop: Lo = %v, Hi = %v: must be a range: %w", a.Lo, a.Hi, admm.ErrParameter)
	}
	if len(r.rounds) == 0 {
		return nil, fmt.Errorf("eavesdrop: the record has no rounds: %w", admm.ErrParameter)
	}
	f := newFit(a, r, id)
	damping := 1e-3
	for range maxSteps {
		size, better := f.step(damping)
		if better {
			damping = max(damping/10, 1e-12)
		} else {
			damping *= 10
		}
		if better && size < 1e-9*(a.Hi-a.Lo) || damping > 1e9 {
			break
		}
	}
	return f.theta, nil
}

// All estimates the parameters of all nodes, by edge, of targets and of sources.
func (a Attack) All(r *Record) (target, source []float64, err error) {
	edges := r.Problem.Graph.Edges
	out := [2][]float64{make([]float64, len(edges)), make([]float64, len(edges))}
	incidence := r.Problem.Graph.Incidence()
	for n, id := range r.Problem.Graph.Nodes() {
		theta, err := a.Node(r, id)
		if err != nil {
			return nil, nil, err
		}
		for k, e := range incidence[n] {
			out[id.Side][e] = theta[k]
		}
	}
	return out[admm.Target], out[admm.Source], nil
}

// fit is a node's least-squares problem.
type fit struct {
	attack Attack
	bounds admm.Bounds
	eta    []float64
	centre [][]float64 // π ∓ α/η of each round
	seen   [][]float64 // what the node shared
	theta  []float64
	value  float64
	prior  float64 // of the middle of the range; without noise only for parameters that the messages do not determine
}

func newFit(a Attack, r *Record, id admm.ID) *fit {
	f := &fit{attack: a, bounds: r.Problem.Bounds(id), prior: 1e-9 * float64(len(r.rounds))}
	if a.Zeta > 0 {
		f.prior = 12 / ((a.Hi - a.Lo) * (a.Hi - a.Lo))
	}
	sign := -1.0
	if id.Side == admm.Source {
		sign = 1
	}
	own := r.Problem.Graph.Incidence()[slices.Index(r.Problem.Graph.Nodes(), id)]
	for _, at := range r.rounds {
		c, v := make([]float64, len(own)), make([]float64, len(own))
		for k, e := range own {
			c[k], v[k] = at.plan[e]+sign*at.price[e]/at.eta, at.shared[id.Side][e]
		}
		f.eta, f.centre, f.seen = append(f.eta, at.eta), append(f.centre, c), append(f.seen, v)
	}
	f.theta = slices.Repeat([]float64{(a.Lo + a.Hi) / 2}, len(own))
	f.value = f.objective(f.theta)
	return f
}

// residual is the message of the node in round k less the prediction for θ.
func (f *fit) residual(k int, theta []float64) (res, guess []float64) {
	guess = make([]float64, len(theta))
	for i, c := range f.centre[k] {
		guess[i] = c + theta[i]/f.eta[k]
	}
	admm.Project(guess, guess, f.bounds)
	res = make([]float64, len(theta))
	floats.SubTo(res, f.seen[k], guess)
	return res, guess
}

func (f *fit) objective(theta []float64) float64 {
	sum := 0.0
	for k := range f.centre {
		res, _ := f.residual(k, theta)
		n := floats.Norm(res, 2)
		if f.attack.Zeta > 0 {
			n *= f.attack.Zeta
		} else {
			n *= n / 2
		}
		sum += n
	}
	for _, t := range theta {
		d := t - (f.attack.Lo+f.attack.Hi)/2
		sum += f.prior * d * d / 2
	}
	return sum
}

// step solves (Σ w P/η² + damping) Δ = Σ w P r/η, P being η times the projection's Jacobian, and
// takes Δ if it is an improvement.
func (f *fit) step(damping float64) (size float64, better bool) {
	d := len(f.theta)
	system, right := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	for k, eta := range f.eta {
		res, guess := f.residual(k, f.theta)
		w := 1.0
		if f.attack.Zeta > 0 {
			w = f.attack.Zeta / max(floats.Norm(res, 2), 1e-9)
		}
		f.normal(system, right, res, guess, w, eta)
	}
	trace := 0.0
	for i := range d {
		trace += system.At(i, i)
	}
	for i := range d {
		middle := (f.attack.Lo + f.attack.Hi) / 2
		system.SetSym(i, i, system.At(i, i)+f.prior+damping*(trace/float64(d)+1e-300))
		right.SetVec(i, right.AtVec(i)+f.prior*(middle-f.theta[i]))
	}
	var chol mat.Cholesky
	var delta mat.VecDense
	if !chol.Factorize(system) || chol.SolveVecTo(&delta, right) != nil {
		return 0, false
	}
	next := make([]float64, d)
	for i := range next {
		next[i] = min(max(f.theta[i]+delta.AtVec(i), f.attack.Lo), f.attack.Hi)
		size = max(size, math.Abs(next[i]-f.theta[i]))
	}
	if v := f.objective(next); v < f.value {
		f.theta, f.value = next, v
		return size, true
	}
	return size, false
}

// normal adds a round to the normal equations.
func (f *fit) normal(system *mat.SymDense, right *mat.VecDense, res, guess []float64, w, eta float64) {
	var active []int
	total, mean := 0.0, 0.0
	for i, v := range guess {
		if v > 0 {
			active = append(active, i)
			mean += res[i]
		}
		total += v
	}
	if len(active) == 0 {
		return
	}
	share := 0.0 // of a tight sum, each active amount's part
	if slack := 1e-9 * (1 + total); total > f.bounds.Max-slack || total < f.bounds.Min+slack && f.bounds.Min > 0 {
		share = 1 / float64(len(active))
	}
	mean *= share
	for a, i := range active {
		right.SetVec(i, right.AtVec(i)+w*(res[i]-mean)/eta)
		system.SetSym(i, i, system.At(i, i)+w/(eta*eta))
		for _, j := range active[a:] {
			system.SetSym(i, j, system.At(i, j)-w*share/(eta*eta))
		}
	}
}

// Record holds the messages of a run and the public knowledge of it. Listen is an ADMM.Trace.
type Record struct {
	// Problem gives the network and the bounds; utilities are not read.
	Problem admm.Problem
	rounds  []round
	// The amounts and prices after the last round.
	plan, price []float64
}

// round holds the shared messages, and the amounts and prices that everyone could compute before it.
type round struct {
	eta         float64
	shared      [2][]float64
	plan, price []float64
}

// Listen records a round. The projecting phase does not depend on utilities and is skipped.
func (r *Record) Listen(s admm.Step) {
	if s.Phase != admm.Transporting {
		return
	}
	if r.plan == nil {
		r.plan, r.price = make([]float64, len(s.Plan)), make([]float64, len(s.Plan))
	}
	shared := [2][]float64{slices.Clone(s.FromTarget), slices.Clone(s.FromSource)}
	r.rounds = append(r.rounds, round{eta: s.Eta, shared: shared, plan: r.plan, price: r.price})
	r.plan, r.price = slices.Clone(s.Plan), slices.Clone(s.Price)
}

// First returns a record of the first k rounds.
func (r *Record) First(k int) *Record {
	return &Record{Problem: r.Problem, rounds: r.rounds[:min(k, len(r.rounds))]}
}

// Score compares estimates with the truth, the slopes of p's utilities at 0: mse is the mean
// squared error, and right the share that is within 1/2 of the truth, as rounded estimates of
// integers are.
func Score(p admm.Problem, target, source []float64) (mse, right float64) {
	n := float64(2 * len(p.Graph.Edges))
	for e := range p.Graph.Edges {
		for _, d := range []float64{target[e] - p.TargetUtility[e].Slope(0), source[e] - p.SourceUtility[e].Slope(0)} {
			mse += d * d / n
			if math.Abs(d) < .5 {
				right += 1 / n
			}
		}
	}
	return mse, right
}
