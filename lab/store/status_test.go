package store_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

func TestStatuses(t *testing.T) {
	s := testStore(t)
	e := lab.Experiment[point, stats]{Name: "test/statuses", Version: 1,
		Run: func(_ context.Context, _ *lab.Cell, p point) (stats, error) {
			if p.N == 2 {
				return stats{}, errors.New("two")
			}
			return stats{}, nil
		}}
	jobs := e.Jobs(1, point{N: 1}, point{N: 2}, point{N: 3}, point{N: 4})
	for _, j := range jobs[:2] {
		_, _ = j.Try(t.Context(), s) // the second fails
	}
	lock := s.Paths(jobs[2].Record())
	must.Do(errors.Join(os.MkdirAll(lock.Dir, 0o777), os.WriteFile(lock.Lock, nil, 0o666)))
	var ids []store.Record
	for _, j := range jobs {
		ids = append(ids, j.Record())
	}
	got, err := s.Statuses(ids)
	want := []store.Status{{Stored: true}, {Failed: true}, {Locked: true}, {}}
	for i, id := range ids {
		if got[id.Key] != want[i] {
			t.Errorf("cell %d: %+v, want %+v", i+1, got[id.Key], want[i])
		}
	}
	if err != nil || len(got) != 3 {
		t.Errorf("%d cells, %v", len(got), err)
	}
	if r, err := s.Failure(ids[1]); err != nil || r.Error != "two" {
		t.Errorf("failure %q, %v", r.Error, err)
	}
	if err := errors.Join(s.ClearFailure(jobs[1]), s.ClearFailure(jobs[1])); err != nil {
		t.Error(err)
	}
	if _, err := s.Failure(ids[1]); !errors.Is(err, store.ErrMissing) {
		t.Errorf("cleared, and yet: %v", err)
	}
}

func TestMakeIsStrict(t *testing.T) {
	var runs atomic.Int64
	d := sampler(&runs).Decoder()
	j, err := d.Make(7, []byte(`{"n":3}`))
	if err != nil || j.Record().Seed != 7 {
		t.Fatal(err)
	}
	var unknown *store.UnknownParamError
	if _, err := d.Make(7, []byte(`{"n":3,"M":4}`)); !errors.As(err, &unknown) || unknown.Path != "/M" {
		t.Errorf("an unknown parameter: %v", err)
	}
	if _, err := d.Make(7, []byte(`{"n":"three"}`)); err == nil || errors.As(err, &unknown) {
		t.Errorf("a string for a number: %v", err)
	}
}

func TestExternalJob(t *testing.T) {
	var runs atomic.Int64
	s, e := testStore(t), sampler(&runs)
	mine := e.Jobs(1, point{1, 2})[0]
	line := must.Get(store.EncodeJob(mine))
	id := must.Get(store.ParseJob(line))
	j := store.ExternalJob(id, mine.Try)
	if _, err := j.Recall(s); !errors.Is(err, store.ErrMissing) {
		t.Errorf("before: %v", err)
	}
	if _, err := j.Try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if r, err := j.Recall(s); err != nil || r.Key != mine.Record().Key {
		t.Errorf("after: %v", err)
	}
	if again, err := store.EncodeJob(j); err != nil || string(again) != string(line) {
		t.Errorf("%s became %s, %v", line, again, err)
	}
	if _, err := store.ParseJob([]byte(strings.Replace(string(line), "test/", "../", 1))); err == nil {
		t.Error("a name that leaves the store was read")
	}
}
