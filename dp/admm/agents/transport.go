package agents

import (
	"context"
	"sync"

	"coupling/dp/admm"
)

// Coordinator is where nodes send their reports.
var Coordinator = admm.ID{Side: -1}

// Kind of a message.
type Kind string

// The kinds of messages.
const (
	Hello  Kind = "hello"  // node → coordinator: I am here, Round is what I do next, my budget pays for Rounds, and Rules is the digest of mine
	Begin  Kind = "begin"  // coordinator → node: all are here, and this is the Run
	Share  Kind = "share"  // node → neighbour: Value is my amount of our edge in Round
	Ask    Kind = "ask"    // node → neighbour: your share of Round has not come
	Over   Kind = "over"   // to a node: the Round that you ask about is long over; you have lost your state
	Tell   Kind = "tell"   // node → coordinator: my Report of Round
	Decide Kind = "decide" // coordinator → node: the Verdict on Round
	Done   Kind = "done"   // node → coordinator: I have the last verdict
	Bye    Kind = "bye"    // coordinator → node: all have it, nobody will ask you any more
	Fail   Kind = "fail"   // either way: the run cannot go on, for the reason in Text
)

// Message is what travels. Shares pass between the two ends of an edge and no further; the coordinator sees sums of squares.
type Message struct {
	Kind    Kind         `json:"kind"`
	From    admm.ID      `json:"from"`
	To      admm.ID      `json:"to"`
	Round   int          `json:"round,omitempty"`
	Value   float64      `json:"value,omitempty"`
	Rounds  int          `json:"rounds,omitempty"`
	Rules   string       `json:"rules,omitempty"`
	Run     string       `json:"run,omitempty"`
	Report  admm.Report  `json:"report,omitzero"`
	Verdict admm.Verdict `json:"verdict,omitzero"`
	Text    string       `json:"text,omitempty"`
}

// Transport connects nodes. A transport may lose messages, deliver them twice, late or in another order: agents ask again for what does
// not come and know what they have seen.
type Transport interface {
	// Join returns the link of one node, or of the Coordinator.
	Join(ctx context.Context, id admm.ID) (Link, error)
}

// Link is a node's end of a transport.
type Link interface {
	// Send puts a message on its way without waiting for the receiver. One goroutine at a time may use a link.
	Send(ctx context.Context, m Message) error
	// Receive returns the next message, or the error of ctx.
	Receive(ctx context.Context) (Message, error)
	// Close leaves.
	Close() error
}

// Channels is the transport in one process: a channel for each node. What finds a channel full is lost, and asked for again. The zero value
// is ready, and must not be copied after use.
type Channels struct {
	mu    sync.Mutex
	boxes map[admm.ID]chan Message
}

// boxSize is room for the messages of two rounds on some thousand edges.
const boxSize = 8192

func (c *Channels) box(id admm.ID) chan Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.boxes == nil {
		c.boxes = map[admm.ID]chan Message{}
	}
	if c.boxes[id] == nil {
		c.boxes[id] = make(chan Message, boxSize)
	}
	return c.boxes[id]
}

// Join returns the link of one node.
func (c *Channels) Join(_ context.Context, id admm.ID) (Link, error) {
	return &channelLink{own: c.box(id), all: c, known: map[admm.ID]chan Message{}}, nil
}

type channelLink struct {
	own   chan Message
	all   *Channels
	known map[admm.ID]chan Message
}

func (l *channelLink) Send(_ context.Context, m Message) error {
	box := l.known[m.To]
	if box == nil {
		box = l.all.box(m.To)
		l.known[m.To] = box
	}
	select {
	case box <- m:
	default:
	}
	return nil
}

func (l *channelLink) Receive(ctx context.Context) (Message, error) {
	select {
	case m := <-l.own:
		return m, nil
	case <-ctx.Done():
		return Message{}, ctx.Err()
	}
}

func (l *channelLink) Close() error { return nil }
