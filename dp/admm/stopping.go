package admm

import "math"

// Report is what a node reports to the coordinator after a round: sums of squares over its edges. They follow from the messages of the
// round; utilities enter through these only.
type Report struct {
	Edges   int     `json:"edges"`
	Gap2    float64 `json:"gap2"`    // of π^t − π^s
	Change2 float64 `json:"change2"` // of η times the change of π
	Plan2   float64 `json:"plan2"`   // of π
	Price2  float64 `json:"price2"`  // of α
}

// Add sums reports; in a fixed order, so that the sum is the same however the run is distributed.
func (r *Report) Add(o Report) {
	r.Edges += o.Edges
	r.Gap2 += o.Gap2
	r.Change2 += o.Change2
	r.Plan2 += o.Plan2
	r.Price2 += o.Price2
}

// Check refuses sums beyond float64, of which residuals would tell nothing. ErrParameter: what they came from is too large.
func (r Report) Check() error {
	if sum := r.Gap2 + r.Change2 + r.Plan2 + r.Price2; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return bad("after a round squares of gaps, changes, amounts and prices sum to %v, %v, %v, %v: utilities, bounds or Eta are too large", r.Gap2, r.Change2, r.Plan2, r.Price2)
	}
	return nil
}

// Primal is the disagreement relative to the size of the plan (Boyd et al. 2011, 3.3.1). Each edge was reported by both ends, which cancels.
func (r Report) Primal() float64 {
	return relative(r.Gap2, r.Edges, r.Plan2)
}

// Dual is η times the change of the plan relative to the size of the prices.
func (r Report) Dual() float64 {
	return relative(r.Change2, r.Edges, r.Price2)
}

// relative is 0 for a network without edges, which rests.
func relative(residual2 float64, edges int, norm2 float64) float64 {
	if edges == 0 {
		return 0
	}
	return math.Sqrt(residual2) / (math.Sqrt(float64(edges)) + math.Sqrt(norm2))
}

// Action is what happens after a round.
type Action int

const (
	// Continue with another round.
	Continue Action = iota
	// BeginProjecting begins the projecting phase.
	BeginProjecting
	// Stop ends the run.
	Stop
)

// Decision is the coordinator's answer to the reports of a round.
type Decision struct {
	Action Action  `json:"action"`
	Eta    float64 `json:"eta"`
	Status Status  `json:"status"` // where the run stops
}

// StoppingRule decides after each round, from reports alone.
type StoppingRule struct {
	rules ADMM
	StoppingState
}

// StoppingState is what the rule remembers between rounds.
type StoppingState struct {
	Eta     float64 `json:"eta"`
	Phase   Phase   `json:"phase"` // of the round that comes
	Round   int     `json:"round"` // of the phase
	Total   int     `json:"total"`
	Adapted int     `json:"adapted"` // round of the last change of η
}

// NewStoppingRule returns the rule of a run by rules that were Filled. To resume, put a stored StoppingState in place between rounds.
func NewStoppingRule(rules ADMM) *StoppingRule {
	return &StoppingRule{rules: rules, StoppingState: StoppingState{Eta: rules.Eta}}
}

const (
	// η changes at most every adaptEvery rounds, by adaptBy, when one residual is adaptAt times the other, and never after
	// adaptUntil rounds, so that the convergence theory of a fixed η applies from there on.
	adaptEvery, adaptUntil = 10, 300
	adaptBy, adaptAt       = 2, 5
)

// Decide must be called with the sum of the reports of each round.
func (j *StoppingRule) Decide(r Report) Decision {
	j.Round++
	j.Total++
	settled := max(r.Primal(), r.Dual()) <= j.rules.Tol
	switch {
	case j.Phase == Transporting && j.rules.Rounds > 0:
		if j.Round < j.rules.Rounds {
			return Decision{Eta: j.Eta}
		}
		j.Phase, j.Round = Projecting, 0
		return Decision{Action: BeginProjecting, Eta: j.Eta}
	case settled:
		return Decision{Action: Stop, Eta: j.Eta, Status: Converged}
	case j.Round >= j.rules.MaxRounds:
		return Decision{Action: Stop, Eta: j.Eta, Status: RoundLimit}
	}
	if j.rules.Adapt && j.Phase == Transporting && j.Round-j.Adapted >= adaptEvery && j.Round <= adaptUntil {
		switch p, d := r.Primal(), r.Dual(); {
		case p > adaptAt*d:
			j.Eta, j.Adapted = j.Eta*adaptBy, j.Round
		case d > adaptAt*p:
			j.Eta, j.Adapted = j.Eta/adaptBy, j.Round
		}
	}
	return Decision{Eta: j.Eta}
}
