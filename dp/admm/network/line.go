package network

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/agents"
)

var errGone = errors.New("the server is gone")

// Line is the transport between a server and its nodes.
type Line struct {
	Access
	// Wait is how long a server that does not answer is waited for; 0 means five minutes.
	Wait time.Duration
}

const (
	defaultWait = 5 * time.Minute
	// reconnect is the time between two requests to a server that does not answer.
	reconnect = 200 * time.Millisecond
	// leaving is how long the last messages may take.
	leaving = 10 * time.Second
	// maxUnsent bounds the messages that wait for a request; more are lost, and asked for again.
	maxUnsent = 16384
)

// Join connects a node. Errors: a server that does not answer; ErrAccess for another token than the server's.
func (l Line) Join(ctx context.Context, id admm.ID) (agents.Link, error) {
	out := &link{line: l, id: id, client: http.Client{Transport: &http.Transport{}}}
	if err := out.exchange(ctx, 0); err != nil {
		return nil, fmt.Errorf("network: join %s: %w", l.URL, err)
	}
	return out, nil
}

// link is a node's end of a line.
type link struct {
	line     Line
	id       admm.ID
	client   http.Client
	out, in  []agents.Message // not sent yet, and not looked at yet
	silentAt time.Time        // when the server ceased to answer, zero while it does
}

// Send keeps a message for the next request.
func (l *link) Send(_ context.Context, m agents.Message) error {
	if len(l.out) < maxUnsent {
		l.out = append(l.out, m)
	}
	return nil
}

// Receive returns the next message. A server that does not answer is asked again until Wait is over.
func (l *link) Receive(ctx context.Context) (agents.Message, error) {
	for len(l.in) == 0 {
		err := l.exchange(ctx, maxWait)
		if err == nil {
			l.silentAt = time.Time{}
			continue
		}
		if ctx.Err() != nil {
			return agents.Message{}, ctx.Err()
		}
		if l.silentAt.IsZero() {
			l.silentAt = time.Now()
		}
		if time.Since(l.silentAt) > cmp.Or(l.line.Wait, defaultWait) {
			err = fmt.Errorf("%w: %w", errGone, err)
		}
		if errors.Is(err, errGone) || errors.Is(err, ErrAccess) {
			return agents.Message{}, fmt.Errorf("network: %s: %w", l.line.URL, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnect):
		}
	}
	m := l.in[0]
	l.in = l.in[1:]
	return m, nil
}

// Close sends what has not been sent, and leaves.
func (l *link) Close() error {
	defer l.client.CloseIdleConnections()
	if len(l.out) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaving)
	defer cancel()
	return l.exchange(ctx, 0)
}

// exchange posts the messages that wait, and takes those that have come. It lets the server answer before the end of ctx, because a request
// that is broken off may lose messages.
func (l *link) exchange(ctx context.Context, wait time.Duration) error {
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, max(time.Millisecond, time.Until(end)*3/4))
	}
	body, err := json.Marshal(request{Node: l.id, Messages: l.out, WaitMS: wait.Milliseconds()})
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.line.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+l.line.Token)
	r.Header["Idempotency-Key"] = nil // lets net/http repeat it: messages may come twice
	answer, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	l.out = l.out[:0]
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		err := fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text))
		if answer.StatusCode == http.StatusUnauthorized {
			err = fmt.Errorf("%w: %w", err, ErrAccess)
		}
		return err
	}
	return json.NewDecoder(answer.Body).Decode(&l.in)
}
