package network_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/admm/network"
	"coupling/lab/must"

	"github.com/google/go-cmp/cmp"
)

// problem is a random network of given utilities in turn, with slopes of at most 5.
func problem(seed uint64, density float64, of ...func(a float64) admm.Utility) admm.Problem {
	rng := rand.New(rand.NewPCG(seed, 3))
	g, err := admm.Random(rng, 5, 3, density)
	if err != nil {
		panic(err) // not for these parameters
	}
	p := admm.Problem{Graph: g, SourceBounds: []admm.Bounds{{Max: 4}, {Min: 1, Max: 6}, {Max: 5}}}
	for e := range g.Edges {
		p.TargetUtility = append(p.TargetUtility, of[e%len(of)](1+4*rng.Float64()))
		p.SourceUtility = append(p.SourceUtility, of[(e+1)%len(of)](1+4*rng.Float64()))
	}
	for range g.Targets {
		p.TargetBounds = append(p.TargetBounds, admm.Bounds{Min: .1, Max: 1 + 3*rng.Float64()})
	}
	return p
}

func linear(a float64) admm.Utility    { return admm.Linear{A: a} }
func logarithm(a float64) admm.Utility { return admm.Log{A: a, B: 1.5} }
func quadratic(a float64) admm.Utility { return admm.Quadratic{A: a, B: 2} }

// protected is a problem with private nodes, and what SolvePrivate makes of it.
func protected(t *testing.T, a admm.ADMM) (admm.Problem, []admm.Spec, *admm.Result) {
	p := problem(3, .5, linear)
	private := admm.Private{Budget: account.Budget{Alpha: 20}, Slope: 5}
	specs := must.Get(private.Protect(rand.New(rand.NewPCG(5, 6)), p.Specs()))
	want := must.Get(a.SolvePrivate(t.Context(), p, private, rand.New(rand.NewPCG(5, 6))))
	return p, specs, want
}

func serve(t *testing.T) *network.Server { return again(t, network.Access{URL: "127.0.0.1:0"}) }

// again serves at the address of a server that is gone.
func again(t *testing.T, at network.Access) *network.Server {
	t.Helper()
	addr := strings.TrimPrefix(at.URL, "http://")
	s, err := network.Serve(addr, at.Token)
	for range 10_000 { // a node that connects to a port that is free may get it for itself
		if err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		s, err = network.Serve(addr, at.Token)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// play runs a problem over HTTP, with what change makes of a node, and returns the errors of the nodes too.
func play(t *testing.T, c network.Coordinator, specs []admm.Spec,
	change func(i int, n *network.Node)) (*admm.Result, []network.Amounts, []error, error) {
	t.Helper()
	s := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	parts, errs := make([]network.Amounts, len(specs)), make([]error, len(specs))
	var wg sync.WaitGroup
	for i, spec := range specs {
		n := network.Node{Access: s.Access(), Rules: c.Rules, Spec: spec}
		if change != nil {
			change(i, &n)
		}
		wg.Go(func() { parts[i], errs[i] = n.Run(ctx) })
	}
	r, unheard, err := s.Run(ctx, c)
	if err != nil { // The coordinator knows the reason before the last node has read it.
		time.AfterFunc(time.Minute, cancel)
	} else if len(unheard) > 0 {
		t.Errorf("%v have not heard of the end", unheard)
	}
	wg.Wait()
	return r, parts, errs, err
}

// same plays a problem over HTTP, which must give what it gives in this process.
func same(t *testing.T, a admm.ADMM, p admm.Problem, specs []admm.Spec, want *admm.Result,
	change func(i int, n *network.Node)) {
	t.Helper()
	got, parts, errs, err := play(t, network.Coordinator{Rules: a, Graph: p.Graph}, specs, change)
	must.Do(errors.Join(append(errs, err)...))
	equal(t, p, want, got, parts)
}

// equal compares a run with one in this process, and what its nodes were told.
func equal(t *testing.T, p admm.Problem, want, got *admm.Result, parts []network.Amounts) {
	t.Helper()
	if d := cmp.Diff(want.Plan, got.Plan); d != "" || got.Rounds != want.Rounds || got.Status != want.Status {
		t.Errorf("%d rounds for %d, %v: %s", got.Rounds, want.Rounds, got.Status, d)
	}
	for n, edges := range p.Graph.Incidence() {
		for k, e := range edges {
			if parts != nil && parts[n].Plan[k] != want.Plan[e] {
				t.Errorf("%v was told %v on edge %d: want %v", parts[n].ID, parts[n].Plan[k], e, want.Plan[e])
			}
		}
	}
}

// Over the network the plan has the same bits as in one process, plain and private, both phases.
func TestSameBits(t *testing.T) {
	for _, p := range []admm.Problem{problem(0, .5, linear, logarithm, quadratic), problem(1, 1, quadratic)} {
		a := admm.ADMM{Tol: 1e-3, Adapt: true, Relax: 1.2}
		same(t, a, p, p.Specs(), must.Get(a.Solve(t.Context(), p)), nil)
	}
	a := admm.ADMM{Rounds: 20, Tol: 1e-4}
	p, specs, want := protected(t, a)
	same(t, a, p, specs, want, nil)
}

// faulty is a line on which requests, or their answers, are lost or come twice.
type faulty struct {
	mu  sync.Mutex
	rng *rand.Rand
}

var errLine = errors.New("the line is cut")

func (f *faulty) draw() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.Float64()
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	send := func() (*http.Response, error) {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(again)
	}
	switch u := f.draw(); {
	case bytes.Contains(body, []byte(`"round"`)) && u < .1: // lost on the way
		return nil, errLine
	case bytes.Contains(body, []byte(`"round"`)) && u < .2: // or on the way back
		if answer, err := send(); err == nil {
			answer.Body.Close()
		}
		return nil, errLine
	case u < .4: // sent twice
		if answer, err := send(); err == nil {
			answer.Body.Close()
		}
	}
	return send()
}

// Requests and answers that are lost or come twice change nothing.
func TestFaultyLine(t *testing.T) {
	a := admm.ADMM{Rounds: 12, Tol: 1e-2}
	p, specs, want := protected(t, a)
	line := &faulty{rng: rand.New(rand.NewPCG(1, 1))}
	same(t, a, p, specs, want, func(_ int, n *network.Node) {
		n.Transport, n.Retry = line, time.Millisecond
	})
}

// mortal is a node that dies at some of its requests and is started again, with nothing but its spec.
func mortal(ctx context.Context, n network.Node, deaths int) (network.Amounts, error) {
	for death := 0; ; death++ {
		life, die := context.WithCancel(ctx)
		requests := 0
		n.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if requests++; requests == 4 && death < deaths {
				die()
			}
			return http.DefaultTransport.RoundTrip(r)
		})
		out, err := n.Run(life)
		dead := life.Err() != nil
		die()
		switch unmet := err != nil && strings.HasPrefix(err.Error(), "network: join "); {
		case ctx.Err() == nil && dead:
		case ctx.Err() == nil && unmet: // the coordinator is dead just now
			death--
			time.Sleep(n.Retry)
		default:
			return out, err
		}
	}
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Nodes that die and come back, and a coordinator that dies after some rounds and comes back with
// what it had saved, at the same address, change nothing.
func TestAllDie(t *testing.T) {
	a := admm.ADMM{Rounds: 12, Tol: 1e-4}
	p, specs, want := protected(t, a)
	s := serve(t)
	access := s.Access()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	for i, spec := range specs {
		wg.Go(func() {
			_, errs[i] = mortal(ctx, network.Node{
				Access: access,
				Rules:  a,
				Spec:   spec,
				Retry:  20 * time.Millisecond,
			}, 3*(1-i%2))
		})
	}
	var saved []byte
	var got *admm.Result
	for deaths := 0; got == nil && ctx.Err() == nil; deaths++ {
		life, die := context.WithCancel(ctx)
		c := network.Coordinator{Rules: a, Graph: p.Graph}
		c.Save = func(m network.Checkpoint) (err error) {
			saved, err = json.Marshal(m)
			return err
		}
		rounds := 0
		c.Rules.Trace = func(admm.Step) {
			if rounds++; rounds == 5 && deaths < 4 {
				die()
			}
		}
		if saved != nil {
			c.Resume = new(network.Checkpoint)
			must.Do(json.Unmarshal(saved, c.Resume))
		}
		r, _, err := s.Run(life, c)
		if dead := life.Err() != nil; !dead && err != nil {
			t.Fatal(err)
		} else if !dead {
			got = r
		} else {
			s.Close()
			s = again(t, access)
		}
		die()
	}
	wg.Wait()
	must.Do(errors.Join(errs...))
	equal(t, p, want, got, nil)
}

// A coordinator that begins a new run at the old address is not joined by nodes of the old one.
func TestCoordinatorForgets(t *testing.T) {
	p := problem(1, 1, logarithm)
	s := serve(t)
	access := s.Access()
	errs := make(chan error)
	for _, spec := range p.Specs() {
		go func() {
			_, err := network.Node{Access: access, Spec: spec, Retry: 20 * time.Millisecond}.Run(t.Context())
			errs <- err
		}()
	}
	life, die := context.WithCancel(t.Context())
	_, _, err := s.Run(life, network.Coordinator{Rules: admm.ADMM{Trace: func(admm.Step) { die() }}, Graph: p.Graph})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.Close()
	s = again(t, access)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _, _ = s.Run(ctx, network.Coordinator{Graph: p.Graph}) }() // which nobody joins
	for range p.Specs() {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "takes part in another run") {
			t.Errorf("%v: want that it is of another run", err)
		}
	}
	cancel()
}

// What no node says ends the run with the reason or changes nothing; it never ends the process.
func TestOddRequests(t *testing.T) {
	p := problem(1, 1, linear)
	a := admm.ADMM{Tol: 1e-4}
	want := must.Get(a.Solve(t.Context(), p))
	var odd []string
	for _, id := range []string{`{"side":0,"index":99}`, `{"side":7,"index":0}`, `{"side":-1,"index":-1}`} {
		odd = append(odd, fmt.Sprintf(`{"node":%s,"rules":%q}`, id, a.Digest()),
			fmt.Sprintf(`{"node":%s,"fail":"no"}`, id))
	}
	odd = append(odd, `{"node":{"side":0,"index":0},"run":"another","fail":"no"}`, "{[", `{"share":"x"}`)
	for _, round := range []int{-1, 1 << 40} {
		odd = append(odd, fmt.Sprintf(`{"node":{"side":0,"index":0},"rules":%q,"rounds":9,"round":%d,"share":[1]}`,
			a.Digest(), round))
	}
	post := func(access network.Access, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, access.URL, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+access.Token)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}
	same(t, a, p, p.Specs(), want, func(i int, n *network.Node) {
		access := n.Access
		n.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			post(access, odd[rand.IntN(len(odd))])
			return http.DefaultTransport.RoundTrip(r)
		})
	})
}

// A share of another length ends the run with the reason, and so does a question that cannot be.
func TestSharesThatCannotBe(t *testing.T) {
	p := problem(1, 1, linear)
	for name, replace := range map[string][2]string{"share": {`"share":[`, `"share":[1,`},
		"rules": {`"rules":"`, `"rules":"x`}} {
		_, _, _, err := play(t, network.Coordinator{Graph: p.Graph}, p.Specs(), func(i int, n *network.Node) {
			if i == 1 {
				n.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					body = bytes.Replace(body, []byte(replace[0]), []byte(replace[1]), 1)
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
					return http.DefaultTransport.RoundTrip(r)
				})
			}
		})
		if !errors.Is(err, admm.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	spec := p.Specs()[0]
	n := must.Get(admm.NewNode(spec, admm.ADMM{}))
	d := make([]float64, len(spec.Neighbours))
	for i, change := range []func(q *admm.Question){
		func(q *admm.Question) { *q = admm.Question{} },
		func(q *admm.Question) { q.Plan, q.Price = nil, nil },
		func(q *admm.Question) { q.Price = nil },
		func(q *admm.Question) { q.Round = 0 },
		func(q *admm.Question) { q.Eta = 0 },
		func(q *admm.Question) { q.Eta = math.NaN() },
		func(q *admm.Question) { q.Eta = math.Inf(1) },
		func(q *admm.Question) { q.Tail = d },
		func(q *admm.Question) { q.Phase, q.Tail = admm.Projecting, d },
		func(q *admm.Question) { q.Phase = -1 },
	} {
		q := admm.Question{Round: 1, Eta: 1, Plan: d, Price: d}
		change(&q)
		if out, err := n.Answer(q); !errors.Is(err, admm.ErrParameter) || out != nil {
			t.Errorf("question %d: %v, %v", i, out, err)
		}
	}
}

// A budget that does not pay for the rounds, and a node by other rules, end the run before its
// first round; an error in a node ends it with the reason.
func TestNodesThatCannot(t *testing.T) {
	p := problem(2, 1, linear)
	specs := must.Get(admm.Private{Budget: account.Budget{Alpha: 1, Epsilon: 5},
		Slope: 5}.Protect(rand.New(rand.NewPCG(1, 1)), p.Specs()))
	rounds := 0
	a := admm.ADMM{Rounds: 6, Trace: func(admm.Step) { rounds++ }}
	if _, _, errs, err := play(t, network.Coordinator{Rules: a, Graph: p.Graph}, specs, nil); !errors.Is(err,
		admm.ErrBudget) || rounds > 0 || errs[0] == nil || !strings.Contains(errors.Join(errs...).Error(),
		"budget is spent") {
		t.Errorf("%v, %v after %d rounds, want ErrBudget", err, errs, rounds)
	}
	for _, other := range []admm.ADMM{{Rounds: 100}, {Rounds: 5, Eta: 2}, {Rounds: 5, Relax: 1.5},
		{Rounds: 5, Tail: 4}} {
		_, _, _, err := play(t, network.Coordinator{Rules: admm.ADMM{Rounds: 5}, Graph: p.Graph}, specs,
			func(i int, n *network.Node) {
				if i == 1 {
					n.Rules = other
				}
			})
		if !errors.Is(err, admm.ErrParameter) && !errors.Is(err, admm.ErrBudget) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	full := make([]admm.Spec, len(specs))
	for i, s := range specs {
		secret := *s.Secret
		secret.Ledger, s.Secret = broken{}, &secret
		full[i] = s
	}
	if _, _, _, err := play(t, network.Coordinator{Rules: admm.ADMM{Rounds: 5}, Graph: p.Graph}, full,
		nil); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v, want that the disk is full", err)
	}
}

type broken struct{}

func (broken) Pay(admm.Release, int) error { return errors.New("the disk is full") }
func (broken) Rounds() int                 { return 1000 }

// Nodes without edges take part; what float64 cannot hold ends a run with the reason.
func TestEdges(t *testing.T) {
	g := must.Get(admm.Edges(2, 1, []admm.Edge{{Target: 1}}))
	p := admm.Problem{Graph: g, TargetUtility: []admm.Utility{admm.Linear{A: 1}}, SourceBounds: []admm.Bounds{{Max: 2}}}
	r, _, _, err := play(t, network.Coordinator{Graph: g}, p.Specs(), nil)
	if err != nil || r.Status != admm.Converged || math.Abs(r.Plan[0]-2) > 1e-6 {
		t.Errorf("%v, %v", r, err)
	}
	huge := []admm.Utility{admm.Linear{A: 1e308}}
	p = admm.Problem{
		Graph:         admm.Complete(1, 1),
		TargetUtility: huge,
		SourceUtility: huge,
		SourceBounds:  []admm.Bounds{{Max: 1}},
	}
	if _, _, _, err := play(t, network.Coordinator{Graph: p.Graph}, p.Specs(), nil); !errors.Is(err,
		admm.ErrParameter) {
		t.Errorf("%v, want ErrParameter", err)
	}
}

// A checkpoint of other rules or another network is refused. Waiting says who is missing.
func TestResumeAndWaiting(t *testing.T) {
	p := problem(1, 1, linear)
	for _, m := range []network.Checkpoint{{}, {Rules: admm.ADMM{}.Digest()},
		{Rules: admm.ADMM{Eta: 2}.Digest(), State: admm.State{Plan: make([]float64, len(p.Graph.Edges))}}} {
		if _, _, err := serve(t).Run(t.Context(), network.Coordinator{Graph: p.Graph, Resume: &m}); !errors.Is(err,
			admm.ErrParameter) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	missing := 0
	_, _, err := serve(t).Run(ctx, network.Coordinator{Graph: p.Graph, Patience: time.Millisecond,
		Waiting: func(_ int, ids []admm.ID) {
			missing = len(ids)
			cancel()
		}})
	if want := p.Graph.Targets + p.Graph.Sources; !errors.Is(err, context.Canceled) || missing != want {
		t.Errorf("%v, %d missing of %d", err, missing, want)
	}
}

// Nobody joins without the token, the server listens on loopback addresses only, and one that is
// gone is an error after a while.
func TestAccess(t *testing.T) {
	s, other := serve(t), serve(t)
	spec := problem(1, 1, linear).Specs()[0]
	for _, token := range []string{"", other.Access().Token} {
		if _, err := (network.Node{Access: network.Access{URL: s.Access().URL, Token: token}, Spec: spec}).
			Run(t.Context()); !errors.Is(err, network.ErrAccess) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.org:0", "127.0.0.1",
		"127.0.0.1:x", "127.0.0.1:70000"} {
		if s, err := network.Serve(addr, ""); err == nil ||
			!strings.Contains(err.Error(), addr[strings.LastIndex(addr, ":")+1:]) {
			t.Errorf("listen %s: %v", addr, err)
			s.Close()
		}
	}
	requests := 0
	gone := network.Node{
		Spec:  spec,
		Wait:  5 * time.Millisecond,
		Retry: time.Millisecond,
		Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			if requests++; requests > 1 {
				return nil, errLine
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		}),
	}
	if _, err := gone.Run(t.Context()); !errors.Is(err, errLine) ||
		!strings.Contains(err.Error(), "the server is gone") {
		t.Errorf("%v: want that the server is gone", err)
	}
}
