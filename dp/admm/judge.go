package admm

import "math"

// Report is what the coordinator hears of a node after a round: sums of squares over its edges. They follow from messages that
// travelled in the round; no utility enters but through these.
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

// Primal is the disagreement relative to the size of the plan (Boyd et al. 2011, 3.3.1). Each edge was reported by both ends, which cancels.
func (r Report) Primal() float64 {
	return math.Sqrt(r.Gap2) / (math.Sqrt(float64(r.Edges)) + math.Sqrt(r.Plan2))
}

// Dual is η times the change of the plan relative to the size of the prices.
func (r Report) Dual() float64 {
	return math.Sqrt(r.Change2) / (math.Sqrt(float64(r.Edges)) + math.Sqrt(r.Price2))
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

// Verdict is the coordinator's answer to the reports of a round.
type Verdict struct {
	Action Action  `json:"action"`
	Eta    float64 `json:"eta"`
	Status Status  `json:"status"` // where the run stops
}

// Judge decides after each round, from reports alone.
type Judge struct {
	rules   ADMM
	eta     float64
	phase   Phase
	round   int // of the phase
	total   int
	adapted int // round of the last change of η
}

// NewJudge returns the judge of a run by rules that were Filled.
func NewJudge(rules ADMM) *Judge { return &Judge{rules: rules, eta: rules.Eta} }

const (
	// η changes at most every adaptEvery rounds, by adaptBy, when one residual is adaptAt times the other, and never after
	// adaptUntil rounds, so that the convergence theory of a fixed η applies from there on.
	adaptEvery, adaptUntil = 10, 300
	adaptBy, adaptAt       = 2, 5
)

// Decide is called with the sum of the reports of each round.
func (j *Judge) Decide(r Report) Verdict {
	j.round++
	j.total++
	settled := max(r.Primal(), r.Dual()) <= j.rules.Tol
	switch {
	case j.phase == Transporting && j.rules.Rounds > 0:
		if j.round < j.rules.Rounds {
			return Verdict{Eta: j.eta}
		}
		j.phase, j.round = Projecting, 0
		return Verdict{Action: BeginProjecting, Eta: j.eta}
	case settled:
		return Verdict{Action: Stop, Eta: j.eta, Status: Converged}
	case j.round >= j.rules.MaxRounds:
		return Verdict{Action: Stop, Eta: j.eta, Status: RoundLimit}
	}
	if j.rules.Adapt && j.phase == Transporting && j.round-j.adapted >= adaptEvery && j.round <= adaptUntil {
		switch p, d := r.Primal(), r.Dual(); {
		case p > adaptAt*d:
			j.eta, j.adapted = j.eta*adaptBy, j.round
		case d > adaptAt*p:
			j.eta, j.adapted = j.eta/adaptBy, j.round
		}
	}
	return Verdict{Eta: j.eta}
}

// Phase is that of the round that comes.
func (j *Judge) Phase() Phase { return j.phase }
