package amplification

import (
	"context"
	"math"

	"coupling/dp"
	"coupling/dp/pair"
	"coupling/figures/style"
	"coupling/lab"
)

// replacementParams asks for δ(ε) of the Gaussian mechanism on batches drawn with replacement, one substitution.
type replacementParams struct {
	Noise float64   `json:"noise"`
	Batch int       `json:"batch"`
	Size  int       `json:"size"`
	Eps   []float64 `json:"eps"`
}

// replacementOut holds log δ at each ε. A draw of the substituted record moves the value by 2 in Agnostic, as in the specific
// bound, and by 1 in Single.
type replacementOut struct {
	Specific []float64 `json:"specific"`
	Agnostic []float64 `json:"agnostic"`
	Single   []float64 `json:"single"`
}

var replacementOf = lab.Experiment[replacementParams, replacementOut]{
	Name: "amplification/replacement", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, p replacementParams) (out replacementOut, err error) {
		step := dp.WithReplacement{Batch: p.Batch, Size: p.Size, Event: dp.Gaussian{Noise: p.Noise}}
		single, err := dp.BaseProfile(step.Event)
		if err != nil {
			return out, err
		}
		double := func(k int, eps float64) float64 { return single(2*k, eps) }
		weights := pair.Binomial(p.Batch, 1/float64(p.Size))
		for _, eps := range p.Eps {
			specific, err := dp.GroupDelta(step, dp.Relation{Kind: dp.Substitution}, eps)
			if err != nil {
				return out, err
			}
			two, err := dp.AgnosticDelta(double, weights, eps)
			if err != nil {
				return out, err
			}
			one, err := dp.AgnosticDelta(single, weights, eps)
			if err != nil {
				return out, err
			}
			out.Specific, out.Agnostic, out.Single = append(out.Specific, specific.LogDelta), append(out.Agnostic, two), append(out.Single, one)
		}
		return out, nil
	},
}

const (
	replacementSmoke, replacementQuick, replacementPaper = 11, 61, 121
)

// replacementFigure is Figure 13.
func replacementFigure() lab.Figure {
	at := func(p lab.Preset) replacementParams {
		return replacementParams{Noise: 1, Batch: 8, Size: 100, Eps: logSpace(1, 10, pick(p, replacementSmoke, replacementQuick, replacementPaper))}
	}
	return lab.Figure{
		Name: "amplification/fig13", Title: "Sampling with replacement: specific against agnostic",
		Shows: "Gaussian mechanism, σ = 1, batches of 8 draws with replacement from 100 records, one substituted. The specific bound knows how many of the draws hit the record, " +
			"and is below the agnostic one by orders of magnitude even for a single record.",
		Sizes:    sizes("%d values of ε", replacementSmoke, replacementQuick, replacementPaper),
		Decoders: []lab.Decoder{replacementOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return replacementOf.Jobs(set.Seed, at(set.Preset)), nil
		},
		Draw: func(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
			cell, err := lab.Recall(s, replacementOf, set.Seed, at(set.Preset))
			if err != nil {
				return lab.Exhibit{}, err
			}
			line := func(name string, colour, dashes int, logs []float64) style.Line {
				l := curve(colour, dashes, cell.Params.Eps, exps(logs))
				l.Name = name
				return l
			}
			body := style.Plot{X: style.Axis{Label: "ε", Log: true}, Y: style.Axis{Label: "δ(ε)", Log: true}}
			body.Items = append(body.Items,
				line("agnostic, a draw moves by 2 (upper bound)", 1, dashed, cell.Value.Agnostic),
				line("agnostic, a draw moves by 1 (upper bound, as published)", 4, dotted, cell.Value.Single),
				line("specific, a draw moves by 2 (exact for its pair)", 0, full, cell.Value.Specific))
			return lab.Exhibit{
				Pictures: []lab.Picture{{
					Caption: "Privacy profile of the Gaussian mechanism (σ = 1) on 8 draws with replacement from N = 100 records, one substituted.",
					Drawing: style.Figure{Body: body, Width: style.OneColumn, Badge: badge(set, sizes("%d values of ε", replacementSmoke, replacementQuick, replacementPaper)[set.Preset])},
				}},
				Notes: []string{"Specific: the dominating pair of SSKG, Theorem L.5, weights Bin(k|n, 1/N), means +k against −k, so that a draw of the record moves the value by up to 2 (one record out, one in). " +
					"Agnostic: δ(ε) = Σ_k Bin(k|n, 1/N) δ_k(ε₀) (Balle, Barthe, Gaboardi 2018). The published figure gives the agnostic bound a move of 1 for a draw, and so half the distance that it gives the specific one; " +
					"drawn with equal distances the gap is larger than published."},
			}, nil
		},
		Claims: func(s *lab.Store, set lab.Setting) ([]lab.Claim, error) {
			cell, err := lab.Recall(s, replacementOf, set.Seed, at(set.Preset))
			if err != nil {
				return nil, err
			}
			above, single := math.Inf(-1), math.Inf(-1)
			for i, v := range cell.Value.Specific {
				above, single = max(above, v-cell.Value.Agnostic[i]), max(single, v-cell.Value.Single[i])
			}
			last := len(cell.Value.Specific) - 1
			return []lab.Claim{
				{What: "log of specific over agnostic δ at equal distances, the largest", Source: "SSKG, section 4: joint convexity", Got: above, Relation: lab.AtMost, Want: 0, AbsTol: 1e-11, Why: exactly},
				{What: "log of specific over agnostic δ as published, the largest", Source: "SSKG, Figure 13: the specific line is the lower one", Got: single, Relation: lab.AtMost, Want: 0, AbsTol: 1e-11, Why: exactly},
				{What: "agnostic δ as published over specific δ at ε = 10, at least", Source: "SSKG, section 3.5: “much stronger”", Got: math.Exp(cell.Value.Single[last] - cell.Value.Specific[last]), Relation: lab.AtLeast, Want: 100,
					Why: "two decades; the paper gives no number"},
			}, nil
		},
	}
}
