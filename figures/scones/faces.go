package scones

import (
	"fmt"

	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
)

// Faces is Figures 1 and 2 and Table 1: pictures to sharper pictures, and to others.
func Faces() lab.Figure {
	return lab.Figure{
		Name:  "scones/faces",
		Title: "Figures 1–2 and Table 1: blurred pictures to sharp ones",
		Shows: "Pictures of one half of a data set, blurred to half their resolution (the task ‘super-res.’) or as they are (‘identity’), and where entropic plans " +
			"send them in the other half: on average (barycentric projection) and by samples of SCONES. At smoke and quick the pictures are CIFAR-10's, at paper CelebA's, which users bring. Table 1's " +
			"finding is checked: samples are nearer to the target than projections are, several times at λ = 0.1 or with networks, in the features of a classifier of these pictures. Where no network is trained the score is the exact one of the noised " +
			"pictures, under which samples end at pictures of the target's half: it is the plan that is seen, not what a network invents.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "300 pictures of CIFAR-10 at 16 × 16, networks of 3 steps",
			lab.Quick: "CIFAR-10 (10,000 pictures where the subset is here) at 16 × 16, 128 sources; KL at two λ, 1000 atoms, exact score of 2000 pictures, no networks",
			lab.Paper: "CelebA at 64 × 64, 5000 sources; KL at the paper's three λ, critics of 8 × 2048, NCSNv2 of 128 features, 210,000 steps",
		},
		Decoders: []lab.Decoder{facesOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return facesOf.Jobs(set.Seed, facesGrid(set)...), nil
		},
		Draw:   drawFaces,
		Claims: claimFaces,
	}
}

func facesGrid(set lab.Setting) []facesParams {
	p := set.Preset
	base := facesParams{
		CelebA: p == lab.Paper, Side: pick(p, 16, 16, 64), Most: pick(p, 300, 0, 0), Sources: pick(p, 20, 128, 5000), Exact: pick(p, 150, 2000, 0), Atoms: pick(p, 100, 1000, 2000),
		Device: set.Device,
	}
	if p != lab.Quick {
		base.Nets = facesNets{Depth: pick(p, 1, 0, 8), Width: pick(p, 8, 0, 2048), Features: pick(p, 2, 0, 128), Levels: pick(p, 5, 0, 500),
			Critic: pick(p, 3, 0, 5000), Score: pick(p, 3, 0, 210000), Projection: pick(p, 3, 0, 20000)}
	}
	lambdas := pick(p, []float64{.1}, []float64{.1, .005}, []float64{.1, .01, .005})
	return lab.Grid(base,
		lab.Vary(func(p *facesParams, v bool) { p.Super = v }, true, false),
		lab.Vary(func(p *facesParams, v float64) { p.Lambda = v }, lambdas...))
}

// table1 is what the paper prints for KL: FIDs on CelebA of SCONES and of the barycentric projection.
var table1 = map[bool]map[float64][2]float64{
	true:  {.1: {35.59, 193.92}, .01: {35.77, 230.85}, .005: {43.80, 228.78}},
	false: {.1: {36.62, 195.64}, .01: {34.84, 217.24}, .005: {43.99, 217.67}},
}

func task(super bool) string {
	if super {
		return "super-res."
	}
	return "identity"
}

func drawFaces(s *lab.Store, set lab.Setting) (lab.Exhibit, error) {
	cells, err := lab.RecallAll(s, facesOf, set.Seed, facesGrid(set))
	if err != nil {
		return lab.Exhibit{}, err
	}
	panels := style.Panels{Columns: 1}
	table := lab.Table{Name: "table1", Caption: "Fréchet distances in the 84 features of a LeNet trained on the target's pictures, of equal numbers; in brackets the FID that the paper prints for CelebA, which is another scale",
		Header: []string{"task", "λ", "method", "Fréchet distance", "mean cost", "samples a second"}}
	for _, c := range cells {
		p := c.Params
		grid := style.ImageGrid{C: 3, H: p.Side, W: p.Side, Columns: facesShown, Title: fmt.Sprintf("%s, λ = %g", task(p.Super), p.Lambda)}
		for k, m := range c.Value.Methods {
			y, err := artifact.Read(c.Open, fmt.Sprintf("%d.npy", k))
			if err != nil {
				return lab.Exhibit{}, err
			}
			grid.Images = append(grid.Images, style.Rows(y)...)
			grid.RowLabels = append(grid.RowLabels, m.Name)
			printed := ""
			switch m.Name {
			case facesSCONES, facesNetwork:
				printed = fmt.Sprintf(" (%.4g)", table1[p.Super][p.Lambda][0])
			case facesProjection, facesNetProjection:
				printed = fmt.Sprintf(" (%.4g)", table1[p.Super][p.Lambda][1])
			}
			table.Rows = append(table.Rows, []string{task(p.Super), fmt.Sprint(p.Lambda), m.Name, number3(m.Frechet) + printed, number3(m.Cost), perSecond(m.Seconds)})
		}
		table.Rows = append(table.Rows, []string{task(p.Super), fmt.Sprint(p.Lambda), "training pictures of the target", number3(c.Value.Floor), fmt.Sprintf("%.3g (of the plan of atoms)", c.Value.Cost), ""})
		panels.Items = append(panels.Items, grid)
	}
	p := cells[0].Params
	label := fmt.Sprintf("%s at %d × %d in place of CelebA at 64 × 64", cells[0].Value.Name, p.Side, p.Side)
	return lab.Exhibit{
		Pictures: []lab.Picture{{
			Caption: fmt.Sprintf("KL at λ times the mean of squares. Sources are pictures of one half of %s, targets the other half; potentials are those of %d atoms of each. Chains begin at the projection plus noise as wide as the plan's factor.", cells[0].Value.Name, p.Atoms),
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, label)},
		}},
		Tables: []lab.Table{table},
		Notes: []string{"FID needs Inception weights, which users bring (lab/eval/inception); a LeNet trained here takes their place, and its distances are comparable within this table alone.",
			"χ² rows of Table 1 are not here: scones/digits has χ² potentials, with the sharpness that the paper states and the one that its code ran."},
	}, nil
}

func claimFaces(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, facesOf, set.Seed, facesGrid(set))
	if err != nil {
		return nil, err
	}
	small := ""
	if set.Preset == lab.Smoke {
		small = "20 sources and networks of 3 steps"
	}
	for _, c := range cells {
		p, v := c.Params, c.Value
		at := fmt.Sprintf("%s, λ = %g: ", task(p.Super), p.Lambda)
		source, why, most := "Table 1", "Table 1 has ratios of 0.16 to 0.2", .3
		if p.Lambda < .1 && p.Nets.Depth == 0 {
			source, why, most = "samples are nearer than their mean", "a comparison; between 1000 atoms of 16 × 16 a plan at this λ has few targets for a source, and its projection is not as blurred as Table 1's", 1
		}
		out = append(out,
			lab.Claim{What: at + "Fréchet distance of SCONES, exact score, over the projection's", Source: source, Got: v.ratio(facesSCONES, facesProjection), Relation: lab.AtMost, Want: most, Why: why, NotHere: small},
			lab.Claim{What: at + "mean cost of SCONES over that of the plan of atoms", Source: "it is that plan that is sampled", Got: v.cost(facesSCONES) / v.Cost, Want: 1, RelTol: .25, Why: "sources that are not atoms, and potentials of few atoms", NotHere: small})
		if p.Nets.Depth > 0 {
			out = append(out, lab.Claim{What: at + "the same by networks", Source: "Table 1", Got: v.ratio(facesNetwork, facesNetProjection), Relation: lab.AtMost, Want: .3, Why: why, NotHere: small})
		}
	}
	return out, nil
}
