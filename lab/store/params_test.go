package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"coupling/lab"
	"coupling/lab/store"
)

type bounded struct {
	Runs  int       `json:"runs" min:"1" doc:"draws"`
	Share float64   `json:"share" min:"0" max:"1"`
	Rates []float64 `json:"rates" min:">0" max:"<1"`
	Kind  string    `json:"kind" enum:"plain,private"`
	Inner struct {
		Low  int `json:"low"`
		High int `json:"high"`
	} `json:"inner"`
}

func (b bounded) Check() error {
	if b.Inner.Low > b.Inner.High {
		return fmt.Errorf("inner.low %d: must be at most inner.high %d", b.Inner.Low, b.Inner.High)
	}
	return nil
}

func TestBadParametersAreNeitherComputedNorStored(t *testing.T) {
	var runs atomic.Int64
	e := lab.Experiment[bounded, point]{Name: "test/bounded",
		Run: func(context.Context, *lab.Cell, bounded) (point, error) {
			runs.Add(1)
			return point{}, nil
		}}
	good := bounded{Runs: 1, Rates: []float64{.5}, Kind: "plain"}
	s, nan, crossed, edge, empty, kind := testStore(t), good, good, good, good, good
	nan.Share = math.NaN()
	crossed.Inner.Low = 2
	edge.Rates = []float64{.5, 1}
	empty.Rates = nil
	kind.Kind = "secret"
	for want, p := range map[string]bounded{
		"runs -20: must be ≥ 1":                     {Runs: -20},
		"share 1.5: must be ≥ 0 and ≤ 1":            {Runs: 1, Share: 1.5},
		"share NaN: must be ≥ 0 and ≤ 1":            nan,
		"inner.low 2: must be at most inner.high 0": crossed,
		"rates 1: must be > 0 and < 1":              edge,
		"rates []: must have an entry":              empty,
		`kind "secret": must be plain or private`:   kind,
	} {
		_, err1 := lab.Do(t.Context(), s, e, 0, p)
		_, err2 := lab.Recall(s, e, 0, p)
		_, err3 := e.Jobs(0, p)[0].Try(t.Context(), s)
		for _, err := range []error{err1, err2, err3} {
			if refused := (*store.ParamError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	if _, err := e.Decoder().Make(0, []byte(`{"runs":-20}`)); err == nil || !strings.Contains(err.Error(), "runs -20") {
		t.Errorf("made of JSON: %v", err)
	}
	if runs.Load() != 0 {
		t.Errorf("%d cells ran", runs.Load())
	}
	if _, err := lab.Do(t.Context(), s, e, 0, good); err != nil {
		t.Error(err)
	}
	var names []string
	for _, p := range store.Params(reflect.TypeFor[bounded]()) {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "runs share rates kind inner.low inner.high" {
		t.Error(got)
	}
}
