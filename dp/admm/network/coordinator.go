package network

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"coupling/dp/admm"
)

// Coordinator waits for the nodes, asks them round by round, and decides when to stop. It sees the
// nodes' names and shares, and no utility and no bound.
type Coordinator struct {
	Rules admm.ADMM // whose Trace is called after every round
	Graph admm.Graph
	// Save stores the checkpoint, so that a coordinator that was killed can resume: ten times a
	// second and at the end, as rounds that are asked again have the same answers. Nil stores
	// nothing. Resume is the last stored checkpoint, or nil to begin a run.
	Save   func(Checkpoint) error
	Resume *Checkpoint
	// Waiting is called after every Patience, 0 being a second, in which nothing came, with the
	// nodes that have not answered. May be nil.
	Waiting  func(round int, missing []admm.ID)
	Patience time.Duration
}

// Checkpoint is the state of a coordinator between rounds.
type Checkpoint struct {
	Run   string     `json:"run"`   // tells this run from others
	Rules string     `json:"rules"` // digest
	State admm.State `json:"state"`
}

// run is one under way. The server's lock guards it.
type run struct {
	Coordinator
	id       string
	rules    string
	c        *admm.Consensus
	place    map[admm.ID]int
	came     []bool // nodes that are here, have shared in this round, or know the end
	missing  int
	began    bool // all nodes were here
	err      error
	finished bool // the end, or err, is being told
	saved    time.Time
}

const (
	// tellEnd is how long nodes may take to hear the end, and tellFailure why there is none: some
	// may never have joined.
	tellEnd, tellFailure = 10 * time.Second, time.Second
	saveEvery            = 100 * time.Millisecond
)

// Run coordinates a run to its end, one for each server. Unheard are the nodes that have not heard
// of the end. It returns the error of ctx, the reason for which a node cannot go on, or that of
// Save.
func (s *Server) Run(ctx context.Context, c Coordinator) (result *admm.Result, unheard []admm.ID, err error) {
	r := &run{Coordinator: c, id: rand.Text(), rules: c.Rules.Digest(), place: map[admm.ID]int{}}
	if r.c, err = admm.NewConsensus(c.Rules, c.Graph); err != nil {
		return nil, nil, err
	}
	for i, id := range c.Graph.Nodes() {
		r.place[id] = i
	}
	if c.Resume != nil {
		if c.Resume.Rules != r.rules || len(c.Resume.State.Plan) != len(r.c.Plan) ||
			len(c.Resume.State.Price) != len(r.c.Price) || len(c.Resume.State.Tail) != len(r.c.Tail) {
			return nil, nil, fmt.Errorf("network: Resume: the run began with other rules or another network: %w",
				admm.ErrParameter)
		}
		r.id, r.c.State, r.began = c.Resume.Run, c.Resume.State, true
	}
	r.await()
	s.mu.Lock()
	s.run = r
	s.announce()
	s.mu.Unlock()
	if err := s.watch(ctx, r); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.c.Result(), r.absent(), r.err
}

// watch waits until the run is over and all nodes have heard of it.
func (s *Server) watch(ctx context.Context, r *run) error {
	patience := time.NewTicker(cmp.Or(r.Patience, time.Second))
	defer patience.Stop()
	var end <-chan time.Time
	for last := 0; ; {
		s.mu.Lock()
		over, changed, missing, round, tell := r.over(), s.changed, r.absent(), r.c.Round, tellEnd
		if r.err != nil {
			tell = tellFailure
		}
		s.mu.Unlock()
		if over && end == nil {
			end = time.After(tell)
		}
		if over && len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case <-changed:
		case <-patience.C:
			if !over && last == round && r.Waiting != nil {
				r.Waiting(round, missing)
			}
			last = round
		}
	}
}

// over reports whether there is nothing left to ask.
func (r *run) over() bool { return r.err != nil || r.c.Done }

// await expects all nodes.
func (r *run) await() {
	r.came, r.missing = make([]bool, len(r.place)), len(r.place)
}

// come notes node i, and reports whether it was the last.
func (r *run) come(i int) bool {
	if !r.came[i] {
		r.came[i] = true
		r.missing--
	}
	return r.missing == 0
}

func (r *run) absent() (out []admm.ID) {
	for i, id := range r.Graph.Nodes() {
		if !r.came[i] {
			out = append(out, id)
		}
	}
	return out
}

// take takes a request: the answer, nil if it has to wait, and whether others that wait may now
// have one. A request that comes twice changes nothing.
func (r *run) take(ask request) (out *answer, news bool) {
	i, known := r.place[ask.Node]
	switch {
	case !known:
		return &answer{Fail: fmt.Sprintf("the network has no %v", ask.Node)}, false
	case ask.Run != "" && ask.Run != r.id:
		return &answer{Fail: fmt.Sprintf("%v takes part in another run", ask.Node)}, false
	case !r.over():
		news = r.listen(i, ask)
	}
	switch {
	case r.over():
		if !r.finished {
			r.finished = true
			r.await()
		}
		return r.end(i), r.come(i) || news
	case !r.began || ask.Round == r.c.Round && r.came[i]:
		return nil, news
	}
	out = &answer{Run: r.id, Question: &admm.Question{}}
	r.c.Ask(i, out.Question)
	return out, news
}

// end is the last answer of node i.
func (r *run) end(i int) *answer {
	if r.err != nil {
		return &answer{Fail: r.err.Error()}
	}
	var q admm.Question
	r.c.Ask(i, &q)
	return &answer{Run: r.id, End: &Amounts{
		ID:     r.Graph.Nodes()[i],
		Plan:   q.Plan,
		Rounds: r.c.Round - 1,
		Status: r.c.Status,
	}}
}

// listen notes that node i is here, or its share of this round, and ends the round with the last.
func (r *run) listen(i int, ask request) (news bool) {
	switch {
	case ask.Fail != "":
		r.err = fmt.Errorf("network: %v: %s", ask.Node, ask.Fail)
	case ask.Rules != r.rules:
		r.err = fmt.Errorf("network: %v has other rules than the coordinator: every node must have the same: %w",
			ask.Node, admm.ErrParameter)
	case !r.began && ask.Rounds < r.Rules.Rounds:
		r.err = fmt.Errorf("network: Rounds = %d: %v: %w: it pays for %d", r.Rules.Rounds, ask.Node, admm.ErrBudget,
			ask.Rounds)
	case !r.began:
		if !r.come(i) {
			return false
		}
		r.began = true
		r.await()
	case ask.Round != r.c.Round || r.came[i]:
		return false
	default:
		if r.err = r.c.Take(i, ask.Share); r.err == nil && !r.come(i) {
			return false
		}
		if r.err == nil {
			r.err = r.update()
		}
	}
	return true
}

// update ends a round.
func (r *run) update() error {
	r.await()
	err := r.c.Update()
	if err != nil || r.Save == nil || !r.c.Done && time.Since(r.saved) < saveEvery {
		return err
	}
	r.saved = time.Now()
	return r.Save(Checkpoint{Run: r.id, Rules: r.rules, State: r.c.State})
}
