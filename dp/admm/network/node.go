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
	"coupling/dp/admm/account"
	"coupling/dp/internal/check"
)

// Node is a node's end of a run.
type Node struct {
	Access
	Rules admm.ADMM
	Spec  admm.Spec
	// Wait is how long a server that does not answer is waited for, once it has answered, 0 meaning
	// five minutes, and Retry the time between two requests to it, 0 meaning 200 ms.
	Wait, Retry time.Duration
	// Transport makes the requests; nil means one of its own.
	Transport http.RoundTripper
}

var errEnded = errors.New("run ended")

// Run answers what the coordinator asks until the end. A node that was killed takes part again by
// running again: it needs no memory but, if it is private, its key and its ledger. It returns the
// error of ctx; that of the node, such as admm.ErrBudget; the coordinator's reason where another
// node cannot go on; ErrAccess; that the server is gone.
func (n Node) Run(ctx context.Context) (Amounts, error) {
	node, err := admm.NewNode(n.Spec, n.Rules)
	if err != nil {
		return Amounts{}, err
	}
	if n.Transport == nil {
		n.Transport = &http.Transport{}
	}
	client := &http.Client{Transport: n.Transport}
	defer client.CloseIdleConnections()
	ask := request{Node: n.Spec.ID, Rules: n.Rules.Digest(), Rounds: account.UnlimitedRounds}
	if n.Spec.Secret != nil && len(n.Spec.Neighbours) > 0 {
		ask.Rounds = n.Spec.Secret.Affords()
	}
	for first := true; ; first = false {
		got, err := n.persist(ctx, client, ask, first)
		switch {
		case err != nil:
			return Amounts{}, err
		case got.Fail != "":
			return Amounts{}, fmt.Errorf("network: %w: %s", errEnded, got.Fail)
		case got.End != nil:
			return *got.End, nil
		case got.Question == nil:
			continue
		}
		ask.Run, ask.Round = got.Run, got.Question.Round
		if ask.Share, err = node.Answer(*got.Question); err != nil {
			ask.Fail = err.Error()
			_, told := n.post(ctx, client, ask)
			return Amounts{}, check.All(err, told)
		}
	}
}

// persist posts until there is an answer, or Wait is over. A server that was never there is not waited for.
func (n Node) persist(ctx context.Context, client *http.Client, ask request, first bool) (answer, error) {
	for until := time.Now().Add(cmp.Or(n.Wait, 5*time.Minute)); ; {
		out, err := n.post(ctx, client, ask)
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, ctx.Err()
		case first:
			return out, fmt.Errorf("network: join %s: %w", n.URL, err)
		case errors.Is(err, ErrAccess):
			return out, fmt.Errorf("network: %s: %w", n.URL, err)
		case time.Now().After(until):
			return out, fmt.Errorf("network: %s: the server is gone: %w", n.URL, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(cmp.Or(n.Retry, 200*time.Millisecond)):
		}
	}
}

// post makes one request.
func (n Node) post(ctx context.Context, client *http.Client, ask request) (out answer, err error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return out, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	r.Header.Set("Authorization", "Bearer "+n.Token)
	r.Header["Idempotency-Key"] = nil // lets net/http repeat it: requests may come twice
	got, err := client.Do(r)
	if err != nil {
		return out, err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(got.Body, 1000))
		err := fmt.Errorf("%s: %s", got.Status, bytes.TrimSpace(text))
		if got.StatusCode == http.StatusUnauthorized {
			err = fmt.Errorf("%w: %w", err, ErrAccess)
		}
		return out, err
	}
	return out, json.NewDecoder(got.Body).Decode(&out)
}
