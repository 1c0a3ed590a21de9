package network

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/agents"

	"github.com/nats-io/nats.go"
)

// ErrAccess marks an access that the server did not accept, or that cannot be one.
var ErrAccess = errors.New("no access")

var errGone = errors.New("the server is gone")

// Line is the transport of one run; every node that joins has a connection of its own.
type Line struct {
	Access
	// Run keeps runs on one server apart: letters, digits, - and _.
	Run string
	// Wait is how long a server that is gone is waited for; 0 means five minutes.
	Wait time.Duration
}

const (
	// inbox is room for messages that were not looked at yet; more are lost, and asked for again.
	inbox = 16384
	// reconnect is how soon a broken connection is tried again, and usualWait for how long.
	reconnect = 200 * time.Millisecond
	usualWait = 5 * time.Minute
	// leaving is how long the last messages may take to get out.
	leaving = 10 * time.Second
)

// Join connects a node. Errors: a server that is not there, or ErrAccess.
func (l Line) Join(_ context.Context, id admm.ID) (agents.Link, error) {
	if l.Run == "" || strings.Trim(strings.ToLower(l.Run), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return nil, fmt.Errorf("network: Run = %q: must be letters, digits, - and _: %w", l.Run, ErrAccess)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(l.CA) {
		return nil, fmt.Errorf("network: CA: no certificate in PEM: %w", ErrAccess)
	}
	tries := int(cmp.Or(l.Wait, usualWait)/reconnect) + 1
	conn, err := nats.Connect(l.URL, nats.Token(l.Token), nats.Name(id.String()), nats.MaxReconnects(tries), nats.ReconnectWait(reconnect),
		nats.ReconnectJitter(0, 0), nats.Timeout(20*time.Second), nats.NoEcho(),
		nats.Secure(&tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // slow consumers: what is lost is asked for again
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, fmt.Errorf("network: join %s: the token is not the server's: %w", l.URL, ErrAccess)
	}
	if err != nil {
		return nil, fmt.Errorf("network: join %s: %w", l.URL, err)
	}
	out := &link{conn: conn, gone: make(chan struct{}), line: l, messages: make(chan *nats.Msg, inbox)}
	conn.SetClosedHandler(func(*nats.Conn) { close(out.gone) })
	if _, err := conn.ChanSubscribe(l.subject(id), out.messages); err != nil {
		conn.Close()
		return nil, fmt.Errorf("network: subscribe: %w", err)
	}
	if err := conn.FlushTimeout(leaving); err != nil { // from here on nothing that is sent to id is missed
		conn.Close()
		return nil, fmt.Errorf("network: subscribe: %w", err)
	}
	return out, nil
}

// subject is where a node listens.
func (l Line) subject(id admm.ID) string {
	if id == agents.Coordinator {
		return "coupling.admm." + l.Run + ".coordinator"
	}
	return fmt.Sprintf("coupling.admm.%s.%v.%d", l.Run, id.Side, id.Index)
}

// link is a node's connection.
type link struct {
	conn     *nats.Conn
	line     Line
	messages chan *nats.Msg
	gone     chan struct{}
}

// Send publishes a message. While the connection is broken messages are kept for it, up to a limit beyond which they are lost.
func (l *link) Send(_ context.Context, m agents.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("network: message: %w", err)
	}
	switch err := l.conn.Publish(l.line.subject(m.To), b); {
	case err == nil || errors.Is(err, nats.ErrReconnectBufExceeded):
		return nil
	case errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("network: %s: %w", l.line.URL, errGone)
	default:
		return fmt.Errorf("network: send: %w", err)
	}
}

// Receive returns the next message; what is none is passed over.
func (l *link) Receive(ctx context.Context) (agents.Message, error) {
	for {
		select {
		case m := <-l.messages:
			var out agents.Message
			if json.Unmarshal(m.Data, &out) == nil {
				return out, nil
			}
		case <-l.gone:
			return agents.Message{}, fmt.Errorf("network: %s: %w", l.line.URL, errGone)
		case <-ctx.Done():
			return agents.Message{}, ctx.Err()
		}
	}
}

// Close sends what is still on its way and leaves.
func (l *link) Close() error {
	err := l.conn.FlushTimeout(leaving)
	l.conn.Close()
	return err
}
