package admmtest

import (
	"context"
	"math/rand/v2"
	"slices"

	"coupling/dp/admm"
	"coupling/dp/admm/agents"
)

// Faulty spoils what a transport carries. Rates are probabilities of each message. What is late is held back until one to twenty further
// messages have been sent on the same link, and so may come in the wrong order, rounds later, or not at all.
type Faulty struct {
	agents.Transport
	Seed                  uint64
	Lose, Duplicate, Late float64
}

// Join returns the link of a node that sends over a faulty line.
func (f *Faulty) Join(ctx context.Context, id admm.ID) (agents.Link, error) {
	l, err := f.Transport.Join(ctx, id)
	if err != nil {
		return nil, err
	}
	return &faultyLink{Link: l, line: f, rng: rand.New(rand.NewPCG(f.Seed, uint64(id.Side+1)<<32|uint64(id.Index)))}, nil
}

type faultyLink struct {
	agents.Link
	line *Faulty
	rng  *rand.Rand
	held []held
}

type held struct {
	m    agents.Message
	left int
}

// Send loses, repeats, delays or sends a message.
func (l *faultyLink) Send(ctx context.Context, m agents.Message) error {
	for i := range l.held {
		l.held[i].left--
		if l.held[i].left == 0 {
			if err := l.Link.Send(ctx, l.held[i].m); err != nil {
				return err
			}
		}
	}
	l.held = slices.DeleteFunc(l.held, func(h held) bool { return h.left <= 0 })
	switch u := l.rng.Float64(); {
	case u < l.line.Lose:
		return nil
	case u < l.line.Lose+l.line.Late:
		l.held = append(l.held, held{m, 1 + l.rng.IntN(20)})
		return nil
	case u < l.line.Lose+l.line.Late+l.line.Duplicate:
		if err := l.Link.Send(ctx, m); err != nil {
			return err
		}
	}
	return l.Link.Send(ctx, m)
}
