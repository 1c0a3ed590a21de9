package scones

import (
	"fmt"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
)

const pixels = 16 * 16

// Digits is Figure 3: USPS digits to MNIST digits and back.
func Digits() lab.Figure {
	return lab.Figure{
		Name:  "scones/digits",
		Title: "Figure 3: transport between USPS and MNIST digits",
		Shows: "Handwritten digits of one set, and where entropic plans send them: on average (barycentric projection) and by samples. Potentials are " +
			"the paper's (χ² at λ = 0.001, networks), with the soft-plus at the sharpness that the paper states and at the one that its code ran, or those of " +
			"the KL plan between 2000 atoms. Scores are a network's, which was trained for minutes at quick, and the exact score of the noised training digits, which a " +
			"network approaches as it grows, and by which samples come to lie on training digits. A classifier of the target's digits says what they are worth.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "300 digits a set, every network trained for 20 steps",
			lab.Quick: "critics 2 × 256, 2000 steps; score a U-Net of width 16, 1500 steps; 250 sources; exact score of at most 7291 digits",
			lab.Paper: "critics 2 × 1024, 5000 steps, batch 1000; score the paper's NCSN of 64 features, 40,000 steps; 4000 sources; exact score of all digits",
		},
		Decoders: []lab.Decoder{digitsOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return digitsOf.Jobs(set.Seed, digitsGrid(set)...), nil
		},
		Draw:   drawDigits,
		Claims: claimDigits,
	}
}

// digitsParams is one direction.
type digitsParams struct {
	ToMNIST  bool        `json:"to_mnist"`
	Most     int         `json:"most"`  // training digits of each set; 0: all
	Exact    int         `json:"exact"` // of which the exact score is; 0: all
	Lambda   float64     `json:"lambda"`
	Critic   int         `json:"critic"` // width of two hidden layers
	Steps    int         `json:"steps"`
	Batch    int         `json:"batch"`
	Rate     float64     `json:"rate"`
	NCSN     bool        `json:"ncsn"` // the paper's score network, else a preconditioned U-Net
	Width    int         `json:"width"`
	ScoreFor int         `json:"score_for"` // its steps
	ProjFor  int         `json:"projection_for"`
	Epochs   int         `json:"epochs"` // of the judge
	Sources  int         `json:"sources"`
	Device   string      `json:"device"`
	Data     data.Origin `json:"data,omitzero"`
}

func digitsGrid(set lab.Setting) []digitsParams {
	p := set.Preset
	base := digitsParams{
		Most: pick(p, 300, 0, 0), Exact: pick(p, 300, 7291, 0), Lambda: .001, Critic: pick(p, 32, 256, 1024), Steps: pick(p, 20, 2000, 5000), Batch: pick(p, 64, 256, 1000),
		Rate: pick(p, 1e-4, 1e-4, 1e-5), NCSN: p == lab.Paper, Width: pick(p, 2, 16, 64), ScoreFor: pick(p, 20, 1500, 40000),
		ProjFor: pick(p, 20, 1000, 20000), Epochs: pick(p, 1, 2, 5), Sources: pick(p, 24, 250, 4000), Device: set.Device, Data: data.Choose("usps", "mnist"),
	}
	return lab.Grid(base, lab.Vary(func(p *digitsParams, v bool) { p.ToMNIST = v }, false, true))
}

func drawDigits(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, digitsOf, set.Seed, digitsGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	panels := style.Panels{Columns: 1}
	table := lab.Table{Name: "judged", Caption: "What a LeNet that was trained on the target's digits says; Fréchet distances in its 84 features, of equal numbers of images",
		Header: []string{"direction", "method", "Fréchet distance", "taken for the source's digit", "moved", "to the nearest training digit", "samples a second"}}
	for _, c := range cells {
		title := "MNIST to USPS"
		if c.Params.ToMNIST {
			title = "USPS to MNIST"
		}
		grid := style.ImageGrid{C: 1, H: 16, W: 16, Columns: shown, Title: title, Invert: true}
		for k, m := range c.Value.Methods {
			y, err := artifact.Read(c.Open, fmt.Sprintf("%d.npy", k))
			if err != nil {
				return lab.Exhibit{}, err
			}
			rows := style.Rows(y)
			for len(rows) < shown {
				rows = append(rows, nil)
			}
			grid.Images = append(grid.Images, rows...)
			grid.RowLabels = append(grid.RowLabels, m.Name)
			rate := perSecond(m.Seconds)
			if k == ofSource || k == ofProjection || k == ofAtoms { // which were there already
				rate = perSecond(0)
			}
			table.Rows = append(table.Rows, []string{title, m.Name, number3(m.Frechet), percent(m.Same), number3(m.Moved), number3(m.Near), rate})
		}
		table.Rows = append(table.Rows, []string{title, "other digits of the target", number3(c.Value.Floor), fmt.Sprintf("(classifier right: %s)", percent(c.Value.Accuracy)), "", number3(c.Value.Fresh), ""})
		panels.Items = append(panels.Items, grid)
	}
	p := cells[0].Params
	net := fmt.Sprintf("score network of width %d, %d steps", p.Width, p.ScoreFor)
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: "Test digits at 16 × 16, the same in each column. Chains of SCONES begin at the projection above them plus noise of σ = 0.2154. “Exact” is " +
				"the score of the noised training digits themselves. β = 1 is what the paper's code ran.",
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, net, sample.Note(p.Data, "mnist"))},
		}},
		Tables: []lab.Table{table},
		Notes: []string{"The paper shows this figure and gives no numbers for it.",
			"Samples under the exact score lie nearer to training digits than test digits do: they are copies with little noise. A network that learns for minutes draws sharp strokes of its own, many of them digits and some fragments; one that learns for long comes near to the exact score."},
	}, nil
}

func number3(v float64) string { return fmt.Sprintf("%.3g", v) }

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// perSecond writes samples a second; no seconds are those of what was not timed.
func perSecond(seconds float64) string {
	if !(seconds > 0) {
		return "–"
	}
	return number3(1 / seconds)
}

func claimDigits(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, digitsOf, set.Seed, digitsGrid(set))
	if err != nil {
		return nil, err
	}
	small := ""
	if set.Preset == lab.Smoke {
		small = "networks of 20 steps"
	}
	for _, c := range cells {
		to := "USPS"
		if c.Params.ToMNIST {
			to = "MNIST"
		}
		m := c.Value.Methods
		over := func(a, b int) float64 { return m[a].Frechet / m[b].Frechet }
		const kept = "half of the mass stays in its class in tour/digits"
		out = append(out,
			lab.Claim{What: "classifier of " + to + " on its test digits", Source: "a sound judge", Got: c.Value.Accuracy, Relation: lab.AtLeast, Want: .9, Why: "a LeNet of few epochs; USPS's test digits are hard", SkipReason: small},
			lab.Claim{What: "to " + to + ": Fréchet distance of χ² SCONES, network score, over the projection's", Source: "Figure 3: sharper", Got: over(ofNet, ofProjection), Relation: lab.AtMost, Want: 1, Why: "a comparison", SkipReason: small},
			lab.Claim{What: "to " + to + ": of χ² SCONES, exact score, over the projection's", Source: "Figure 3: sharper", Got: over(ofExact, ofProjection), Relation: lab.AtMost, Want: .5, Why: "a comparison", SkipReason: small},
			lab.Claim{What: "to " + to + ": of KL SCONES, network score, over the projection's", Source: "Figure 3: sharper", Got: over(ofAtomsNet, ofAtoms), Relation: lab.AtMost, Want: .5, Why: "a comparison", SkipReason: small},
			lab.Claim{What: "to " + to + ": of KL SCONES, exact score, over the projection's", Source: "Figure 3: sharper", Got: over(ofAtomsExact, ofAtoms), Relation: lab.AtMost, Want: .25, Why: "a comparison", SkipReason: small},
			lab.Claim{What: "to " + to + ": share of KL samples, network score, taken for their source's digit", Source: "chance is 0.1", Got: m[ofAtomsNet].Same, Relation: lab.AtLeast, Want: .3, Why: kept, SkipReason: small},
			lab.Claim{What: "to " + to + ": the same, exact score", Source: "chance is 0.1", Got: m[ofAtomsExact].Same, Relation: lab.AtLeast, Want: .3, Why: kept, SkipReason: small},
			lab.Claim{What: "to " + to + ": Fréchet distance of the plan's own draws over its projection's", Source: "Figure 3: sharper", Got: over(ofDraws, ofAtoms), Relation: lab.AtMost, Want: .25, Why: "a comparison", SkipReason: small})
	}
	return out, nil
}
