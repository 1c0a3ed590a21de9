package dptest_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"coupling/dp"
	"coupling/dp/admm"         //nolint:depguard // its errors are asked here with all others
	"coupling/dp/admm/account" //nolint:depguard // its errors are asked here with all others
	"coupling/dp/audit"
	"coupling/dp/best"
	"coupling/dp/bounds"
	"coupling/dp/closed"
	"coupling/dp/contour"
	"coupling/dp/noise"
	"coupling/dp/pair"
	"coupling/dp/pld"
	"coupling/dp/query"
	"coupling/dp/rdp"
	"coupling/dp/release"
	"coupling/dp/sgd" //nolint:depguard // its errors are asked here with all others
	"coupling/lab/must"
)

// A parameter out of range is dp.ErrParameter in all packages, in one line that begins with the package.
func TestSentinels(t *testing.T) {
	leaky := must.Get(pair.NewDiscrete([]float64{.5, .4, .1}, []float64{.6, .4, 0}))
	bound := func(a dp.Accountant, p pair.Pair, delta float64) error {
		return must.Err(a.Bound(t.Context(), []pair.Step{{Pair: p, Times: 3}}, pair.EpsilonAt(delta)))
	}
	for name, err := range map[string]error{
		"dp":      must.Err(dp.Epsilon(t.Context(), dp.Gaussian{NoiseMultiplier: -1}, dp.Relation{}, 1e-5)),
		"pair":    must.Err(pair.NewMixture(pair.Gaussian, -1, nil, nil)),
		"closed":  bound(closed.Accountant{}, leaky, 2),
		"contour": bound(contour.Accountant{}, leaky, 2),
		"pld":     bound(pld.Accountant{}, leaky, 2),
		"rdp":     bound(rdp.Accountant{Orders: []float64{.5}}, leaky, 2),
		"best":    bound(best.Accountant{Width: 2}, leaky, .1),
		"bounds":  must.Err(bounds.PostHocRenyi(nil, 3, 2)),
		"noise":   must.Err(noise.Gaussian{Sigma: math.NaN()}.Grid()),
		"audit":   must.Err(audit.TwoWorlds[int]{}.Epsilon(t.Context(), nil, 0)),
		"admm":    admm.ADMM{Eta: -1}.Check(),
		"account": must.Err(account.Spend(t.Context(), -1, 1, 1, 2)),
		"query":   must.Err((&query.Session{}).Argmax(t.Context(), nil, -1, false)),
		"release": must.Err(release.Poisson(nil, 1, 2)),
		"sgd":     must.Err(sgd.Training{}.Event()),
	} {
		if !errors.Is(err, dp.ErrParameter) || !strings.HasPrefix(err.Error(), name+": ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An infinite loss that is too likely has no finite ε, whoever is asked; what nobody can answer
	// is said once, in one line.
	for _, a := range []dp.Accountant{closed.Accountant{}, pld.Accountant{}, rdp.Accountant{}, dp.Best{}} {
		if err := bound(a, leaky, .05); !errors.Is(err, dp.ErrUnbounded) && !errors.Is(err, dp.ErrNotApplicable) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", a.Name(), err)
		}
	}
	// If one accountant has found that there is no bound, only that is said.
	if err := bound(dp.Best{}, leaky, .05); !errors.Is(err, dp.ErrUnbounded) || !errors.Is(err, dp.ErrNotApplicable) ||
		!strings.HasSuffix(err.Error(), dp.ErrUnbounded.Error()) || strings.Contains(err.Error(), ";") {
		t.Errorf("no bound: %v", err)
	}
	if _, err := dp.Branches(dp.WithReplacement{Batch: 2, Size: 9, Event: dp.ZCDP{Rho: 1}},
		dp.Relation{}); !errors.Is(err, dp.ErrNoPair) || !errors.Is(err, pair.ErrNoPair) {
		t.Errorf("no pair: %v", err)
	}
	if err := bound(contour.Accountant{}, leaky, .2); !errors.Is(err, dp.ErrNotApplicable) {
		t.Errorf("contour of atoms: %v", err)
	}
}
