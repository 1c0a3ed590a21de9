package agents

import (
	"context"
	"sync"

	"coupling/dp/admm"
)

// CoordinatorID is the address to which nodes report.
var CoordinatorID = admm.ID{Side: -1}

// Kind of a message.
type Kind string

// The kinds of messages.
const (
	Hello  Kind = "hello"  // node → coordinator: I am here, Round is my next round, my budget pays for Rounds, Rules is the digest of my rules
	Begin  Kind = "begin"  // coordinator → node: all nodes are here, and this is the Run
	Share  Kind = "share"  // node → neighbour: Value is my amount of our edge in Round
	Ask    Kind = "ask"    // node → neighbour: your share of Round has not come
	Lost   Kind = "lost"   // to a node: the Round that you ask about ended long ago, so you have lost your state
	Report Kind = "report" // node → coordinator: my Report of Round
	Decide Kind = "decide" // coordinator → node: the Decision on Round
	Done   Kind = "done"   // node → coordinator: I have the last decision
	Bye    Kind = "bye"    // coordinator → node: all nodes have the last decision, nobody will ask you again
	Fail   Kind = "fail"   // either way: the run cannot go on, for the reason in Text
)

// Message is what travels. Shares pass between the two ends of an edge and no further; the coordinator sees sums of squares.
type Message struct {
	Kind     Kind          `json:"kind"`
	From     admm.ID       `json:"from"`
	To       admm.ID       `json:"to"`
	Round    int           `json:"round,omitempty"`
	Value    float64       `json:"value,omitempty"`
	Rounds   int           `json:"rounds,omitempty"`
	Rules    string        `json:"rules,omitempty"`
	Run      string        `json:"run,omitempty"`
	Report   admm.Report   `json:"report,omitzero"`
	Decision admm.Decision `json:"decision,omitzero"`
	Text     string        `json:"text,omitempty"`
}

// Transport connects nodes. It may lose messages, deliver them twice, late or in another order: agents recognise what they have seen and
// ask again for what does not come.
type Transport interface {
	// Join returns the link of one node, or of the coordinator.
	Join(ctx context.Context, id admm.ID) (Link, error)
}

// Link is a node's end of a transport. One goroutine at a time may use it.
type Link interface {
	// Send accepts a message for delivery without waiting for the receiver. Messages travel at the latest with the next Receive or Close.
	Send(ctx context.Context, m Message) error
	// Receive returns the next message. It returns the error of ctx when that ends and no message is there.
	Receive(ctx context.Context) (Message, error)
	// Close delivers what was sent, and leaves.
	Close() error
}

// Channels is the transport in one process: a mailbox for each node. A message to a full mailbox is lost. The zero value is ready, and must
// not be copied after use.
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

// Pending is the number of messages to nodes that have not been received.
func (c *Channels) Pending() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, box := range c.boxes {
		if id != CoordinatorID {
			n += len(box)
		}
	}
	return n
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
	default:
	}
	select {
	case m := <-l.own:
		return m, nil
	case <-ctx.Done():
		return Message{}, ctx.Err()
	}
}

func (l *channelLink) Close() error { return nil }
