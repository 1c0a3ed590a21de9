package query

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/dp"
	"coupling/dp/noise"
	"coupling/lab/durable"
	"coupling/lab/must"
)

// A session that is opened again has left what the one before had, whatever noise failed to come, and
// goes on from there, within the same budget.
func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ages.ledger")
	open := func(eps float64) *Session {
		s := must.Get(Session{
			Budget:    dp.Budget{Epsilon: eps, Delta: 1e-6},
			KeysDelta: 1e-7,
			Source:    noise.Seeded(rand.New(rand.NewPCG(1, 2))),
		}.Open(path))
		return s
	}
	left := func(s *Session) string {
		left := must.Get(s.Left(t.Context()))
		return fmt.Sprint(left)
	}
	s := open(1.2)
	_, err := s.Histogram(t.Context(), []string{"a", "b", "a"}, []string{"a", "b"}, Noise{Scale: 5})
	if err == nil {
		_, err = s.UnknownKeys(t.Context(), []string{"a", "a"}, 10, 1e-7)
	}
	if err == nil {
		_, err = s.Sum(t.Context(), []float64{3}, 0, 5, 1, Noise{Sigma: 40})
	}
	if err == nil {
		_, err = s.Argmax(t.Context(), []int{3, 1}, 10, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Source = broken{}
	if _, err := s.Count(t.Context(), 3, Noise{Scale: 20}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("a count without random bits: %v", err)
	}
	if _, err := s.Count(t.Context(), 3, Noise{Scale: 1e300}); err == nil ||
		strings.Contains(s.Event().String(), "e+300") {
		t.Errorf("noise that cannot be drawn: %v, %v", err, s.Event())
	}
	link := filepath.Join(t.TempDir(), "link")
	must.Do(os.Symlink(path, link))
	for _, name := range []string{path, link} {
		if _, err := (Session{Budget: s.Budget, KeysDelta: s.KeysDelta, Source: s.Source}).
			Open(name); !errors.Is(err, durable.ErrLocked) {
			t.Errorf("a second session on one ledger, by %s: %v", name, err)
		}
	}
	want, event := left(s), s.Event().String()
	must.Do(s.Close())

	s = open(1.2)
	if got := left(s); got != want || s.Event().String() != event {
		t.Errorf("opened again, %v is %s; it was %v, %s", s.Event(), got, event, want)
	}
	var over *OverBudgetError
	if _, err := s.Count(t.Context(), 3, Noise{Scale: 2}); !errors.As(err, &over) {
		t.Errorf("a count beyond the budget of both sessions: %v", err)
	}
	must.Do(s.Close())

	whole := must.Get(os.ReadFile(path))
	lines := strings.SplitAfter(string(whole), "\n")
	write := func(s string) {
		must.Do(os.WriteFile(path, []byte(s), 0o600))
	}
	write(strings.TrimSuffix(string(whole), "\n")) // as editors leave it: the last release counts
	s = open(1.2)
	if got := left(s); got != want {
		t.Errorf("without the last end of line: %s, and it was %s", got, want)
	}
	must.Do(s.Close())
	write(string(whole) + lines[1][:9]) // killed while it wrote
	s = open(1.2)
	if got := left(s); got != want {
		t.Errorf("with a part of a line: %s, and it was %s", got, want)
	}
	if _, err := s.Count(t.Context(), 3, Noise{Scale: 20}); err != nil {
		t.Error(err)
	}
	must.Do(s.Close())
	if now, _ := os.ReadFile(path); string(now) != string(whole)+lines[len(lines)-2] {
		t.Errorf("after a part of a line and a count the ledger is\n%s", now)
	}
	for _, bad := range []string{
		"something else\n",
		strings.Replace(string(whole), `"Step":5`, `"Steps":5`, 1),
		strings.Replace(string(whole), `"Epsilon":1.2,`, `"Epsilon":2,`, 1), // another budget
		lines[0] + "{}\n" + lines[1],
		lines[0] + "{\"Epsilon\":-3}\n",
		lines[0] + lines[1] + "{\"Declared\":[{\"Epsilon\":1}]}\n", // after a release
		lines[0] + "{\"Declared\":[{\"Epsilon\":1}]}\n" + lines[1], // a release that was not declared
	} {
		write(bad)
		if _, err := (Session{Budget: s.Budget, KeysDelta: s.KeysDelta, Source: s.Source}).Open(path); err == nil {
			t.Errorf("a ledger was taken: %q", bad)
		}
		if now, _ := os.ReadFile(path); string(now) != bad {
			t.Errorf("%q became %q", bad, now)
		}
	}
}

// broken has no random bits.
type broken struct{}

func (broken) Uint64() (uint64, error) { return 0, io.ErrUnexpectedEOF }
