package lab_test

import (
	"math"
	"testing"

	"coupling/lab"
)

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		lab.Claim
		want lab.Verdict
	}{
		{lab.Claim{Got: 1.04, Want: 1, RelTol: .05}, lab.Holds},
		{lab.Claim{Got: 1.06, Want: 1, RelTol: .05}, lab.Differs},
		{lab.Claim{Got: 1.06, Want: 1, RelTol: .05, SkipReason: "n = 10"}, lab.Skipped},
		{lab.Claim{Got: math.NaN(), Want: 1, AbsTol: 10}, lab.Differs},
		{lab.Claim{Got: math.NaN(), Want: 1, Relation: lab.AtMost}, lab.Differs},
		{lab.Claim{Got: math.Inf(1), Want: math.Inf(1)}, lab.Differs},
		{lab.Claim{Got: math.Inf(1), Relation: lab.AtMost, Want: 1}, lab.Differs},
		{lab.Claim{Got: 7, Relation: lab.AtMost, Want: math.Inf(1)}, lab.Differs},
		{lab.Claim{Got: 7, Want: math.Inf(1), RelTol: .1}, lab.Differs},
		{lab.Claim{Got: 7, Want: 1, AbsTol: math.Inf(1)}, lab.Differs},
		{lab.Claim{Got: lab.Least([]int{}, func(int) float64 { return 2 }), Relation: lab.AtLeast, Want: 1},
			lab.Nothing},
		{lab.Claim{Got: lab.Most([]int{}, func(int) float64 { return 0 }), Relation: lab.AtMost, Want: 1}, lab.Nothing},
		{lab.Claim{Got: .5, Relation: lab.AtMost, Want: .5}, lab.Holds},
		{lab.Claim{Got: .4, Relation: lab.AtLeast, Want: .5}, lab.Differs},
	} {
		if got := c.Verdict(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.Claim, got, c.want)
		}
	}
	for want, score := range map[string]lab.Score{
		"no claims":                       {},
		"9 claims not asked at this size": {lab.Skipped: 9},
		"1 of 1 claims hold":              {lab.Holds: 1},
		"1 of 3 claims hold, 1 differ, 1 with nothing to measure; 2 not asked at this size": {lab.Holds: 1,
			lab.Differs: 1, lab.Nothing: 1, lab.Skipped: 2},
	} {
		if got := score.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
