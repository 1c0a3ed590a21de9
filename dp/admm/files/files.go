package files

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"coupling/dp/admm"
	"coupling/dp/admm/account"
	"coupling/dp/internal/check"
	"coupling/dp/release"
	"coupling/lab/durable"
)

// Network is what is public.
type Network struct {
	Targets int       `json:"targets"`
	Sources int       `json:"sources"`
	Edges   [][2]int  `json:"edges"` // target, source
	Rules   admm.ADMM `json:"rules"`
}

// node is a node's file.
type node struct {
	ID         admm.ID   `json:"id"`
	Neighbours []int     `json:"neighbours"`
	Utilities  []utility `json:"utilities"`
	Min        float64   `json:"min"`
	Max        *float64  `json:"max,omitempty"`
	Private    *secret   `json:"private,omitempty"`
	Rules      admm.ADMM `json:"rules"`
}

type utility struct {
	Kind string  `json:"kind"`
	A    float64 `json:"a"`
	B    float64 `json:"b,omitempty"`
}

// secret is a node's noise. An empty key is for DrawKey.
type secret struct {
	account.Budget
	Sensitivity float64 `json:"sensitivity"`
	Slope       float64 `json:"slope"`
	Paid        paid    `json:"paid,omitzero"` // the rounds that the budget pays for
	Key         string  `json:"key"`
	Ledger      string  `json:"ledger,omitempty"` // the name of the ledger, once it has one
}

// paid caches the number of rounds that a budget pays for, which takes seconds to compute, with the
// values that it was computed from: it is ignored when they have been edited.
type paid struct {
	Rounds int `json:"rounds"`
	account.Budget
	Degree int `json:"degree"`
}

// rounds is how many rounds the budget pays for; ok reports whether the cached number holds.
func (s secret) rounds(degree int) (n int, ok bool) {
	p := s.Paid
	return p.Rounds, p == paid{p.Rounds, s.Budget, degree} && p.Rounds > 0
}

// Graph returns the network. Errors: edges that are no network.
func (n Network) Graph() (admm.Graph, error) {
	edges := make([]admm.Edge, len(n.Edges))
	for i, e := range n.Edges {
		edges[i] = admm.Edge{Target: e[0], Source: e[1]}
	}
	return admm.Edges(n.Targets, n.Sources, edges)
}

// NodePath returns the file of a node.
func NodePath(dir string, id admm.ID) string {
	return filepath.Join(dir, "nodes", fmt.Sprintf("%v-%d.json", id.Side, id.Index))
}

// Write writes a problem: the public part and a file a node. With private, nodes get their noise,
// with keys from rng for experiments; a nil rng leaves the keys to the nodes (DrawKey). Errors: a
// problem that does not pass Check, a utility without a file format, those of Private.Protect and
// of writing.
func Write(dir string, p admm.Problem, rules admm.ADMM, private *admm.Private, rng *rand.Rand) error {
	if err := check.All(rules.Filled().Check(), p.Check()); err != nil {
		return err
	}
	specs, err := p.Specs(), error(nil)
	if private != nil {
		keys := cmp.Or(rng, rand.New(rand.NewPCG(0, 0))) // whose keys are taken out again below
		if specs, err = private.Protect(keys, specs); err != nil {
			return err
		}
		if err := admm.CanAfford(specs, rules.Rounds); err != nil {
			return err
		}
	}
	for _, s := range specs { // nothing is written that cannot run
		if _, err := admm.NewNode(s, rules); err != nil {
			return err
		}
	}
	n := Network{Targets: p.Graph.Targets, Sources: p.Graph.Sources, Rules: rules}
	for _, e := range p.Graph.Edges {
		n.Edges = append(n.Edges, [2]int{e.Target, e.Source})
	}
	if err := SaveJSON(filepath.Join(dir, "network.json"), n); err != nil {
		return err
	}
	for _, s := range specs {
		f, err := encode(s, rules)
		if err != nil {
			return err
		}
		if private != nil {
			f.Private.Paid = paid{s.Secret.Rounds, f.Private.Budget, len(s.Neighbours)}
			if rng == nil {
				f.Private.Key = ""
			}
		}
		if err := SaveJSON(NodePath(dir, s.ID), f); err != nil {
			return err
		}
	}
	return nil
}

func encode(s admm.Spec, rules admm.ADMM) (node, error) {
	f := node{ID: s.ID, Neighbours: s.Neighbours, Min: s.Bounds.Min, Rules: rules}
	if !math.IsInf(s.Bounds.Max, 1) {
		f.Max = &s.Bounds.Max
	}
	for _, u := range s.Utilities {
		switch u := u.(type) {
		case admm.Linear:
			f.Utilities = append(f.Utilities, utility{Kind: "linear", A: u.A})
		case admm.Log:
			f.Utilities = append(f.Utilities, utility{"log", u.A, u.B})
		case admm.Saturating:
			f.Utilities = append(f.Utilities, utility{"saturating", u.A, u.B})
		case admm.Quadratic:
			f.Utilities = append(f.Utilities, utility{"quadratic", u.A, u.B})
		default:
			return f, fmt.Errorf("files: %v: %T has no file format", s.ID, u)
		}
	}
	if s.Secret != nil {
		f.Private = &secret{
			Budget:      account.Budget{Alpha: s.Secret.Alpha, Epsilon: s.Secret.Epsilon, Delta: s.Secret.Delta},
			Sensitivity: s.Secret.Sensitivity, Slope: s.Secret.Slope, Key: hex.EncodeToString(s.Secret.Key[:]),
		}
	}
	return f, nil
}

// SaveJSON writes a value to a file, as Replace does, for people to read.
func SaveJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("files: %s: %w", path, err)
	}
	return Replace(path, append(b, '\n'))
}

// Replace writes a file whole or not at all, for its owner alone, and makes its folder.
func Replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, 0o600, durable.Bytes(b))
}

// ReadNetwork reads DIR/network.json.
func ReadNetwork(dir string) (Network, error) {
	var n Network
	return n, LoadJSON(filepath.Join(dir, "network.json"), &n)
}

// ReadNode reads a node's file: what it knows, and the rules. Errors name the file and what is wrong in it.
func ReadNode(path string) (admm.Spec, admm.ADMM, error) {
	var f node
	if err := LoadJSON(path, &f); err != nil {
		return admm.Spec{}, admm.ADMM{}, err
	}
	s, err := f.spec()
	if err == nil {
		_, err = admm.NewNode(s, f.Rules)
	}
	if err != nil {
		return s, f.Rules, fmt.Errorf("%s: %w", path, err)
	}
	return s, f.Rules, nil
}

// DrawKey writes a key from the operating system's cryptographic source to the file of a private
// node that has none, before it is used: a node that comes back must make the same noise.
func DrawKey(path string) error {
	var f node
	if err := LoadJSON(path, &f); err != nil || f.Private == nil || f.Private.Key != "" {
		return err
	}
	key := release.NewKey()
	f.Private.Key = hex.EncodeToString(key[:])
	return SaveJSON(path, f)
}

// LoadJSON reads what SaveJSON wrote. Errors name the file.
func LoadJSON(path string, to any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (f node) spec() (admm.Spec, error) {
	s := admm.Spec{ID: f.ID, Neighbours: f.Neighbours, Bounds: admm.Bounds{Min: f.Min, Max: math.Inf(1)}}
	if f.ID.Side != admm.Target && f.ID.Side != admm.Source || f.ID.Index < 0 {
		return s, fmt.Errorf("id %+v: must be of side 0 or 1: %w", f.ID, admm.ErrParameter)
	}
	if f.Max != nil {
		s.Bounds.Max = *f.Max
	}
	for _, u := range f.Utilities {
		known := Utilities(u.A, u.B)[u.Kind]
		if known == nil {
			return s, fmt.Errorf("utility of kind %q: must be linear, log, saturating or quadratic: %w", u.Kind,
				admm.ErrParameter)
		}
		s.Utilities = append(s.Utilities, known)
	}
	if f.Private == nil {
		return s, nil
	}
	key, err := hex.DecodeString(f.Private.Key)
	if f.Private.Key == "" {
		return s, fmt.Errorf("private key: there is none yet; the node draws it: %w", admm.ErrParameter)
	}
	if err != nil || len(key) != 32 {
		return s, fmt.Errorf("private key of %d bytes: must be 64 hexadecimal digits: %w", len(key), admm.ErrParameter)
	}
	if !(f.Private.Slope > 0) {
		return s, fmt.Errorf("private slope %v: must be positive: %w", f.Private.Slope, admm.ErrParameter)
	}
	s.Secret = &admm.Secret{
		Alpha:       f.Private.Alpha,
		Sensitivity: f.Private.Sensitivity,
		Slope:       f.Private.Slope,
		Epsilon:     f.Private.Epsilon,
		Delta:       f.Private.Delta,
		Key:         [32]byte(key),
	}
	if n, ok := f.Private.rounds(len(f.Neighbours)); ok {
		s.Secret.Rounds = n
		return s, nil
	}
	s.Secret.Rounds, err = f.Private.Budget.Rounds(len(f.Neighbours))
	return s, err
}

// ReadProblem reads all nodes' files, for runs in one process.
func ReadProblem(dir string) (admm.Problem, []admm.Spec, admm.ADMM, error) {
	n, err := ReadNetwork(dir)
	if err != nil {
		return admm.Problem{}, nil, n.Rules, err
	}
	g, err := n.Graph()
	if err != nil {
		return admm.Problem{}, nil, n.Rules, fmt.Errorf("%s: %w", filepath.Join(dir, "network.json"), err)
	}
	p := admm.Problem{Graph: g, TargetUtility: make([]admm.Utility, len(g.Edges)),
		SourceUtility: make([]admm.Utility, len(g.Edges))}
	var specs []admm.Spec
	incidence := g.Incidence()
	for i, public := range p.Specs() {
		path := NodePath(dir, public.ID)
		s, rules, err := ReadNode(path)
		switch {
		case err != nil:
			return p, nil, n.Rules, err
		case rules.Digest() != n.Rules.Digest():
			return p, nil, n.Rules,
				fmt.Errorf("%s: its rules are not those of network.json: every node must have the same: %w", path,
					admm.ErrParameter)
		case s.ID != public.ID:
			return p, nil, n.Rules, fmt.Errorf("%s: is of %v", path, s.ID)
		case !slices.Equal(s.Neighbours, public.Neighbours):
			return p, nil, n.Rules, fmt.Errorf("%s: neighbours %v: must be %v, as in network.json", path, s.Neighbours,
				public.Neighbours)
		}
		utilities, bounds := p.TargetUtility, &p.TargetBounds
		if s.ID.Side == admm.Source {
			utilities, bounds = p.SourceUtility, &p.SourceBounds
		}
		for k, e := range incidence[i] {
			utilities[e] = s.Utilities[k]
		}
		*bounds = append(*bounds, s.Bounds)
		specs = append(specs, s)
	}
	return p, specs, n.Rules, p.Check()
}
