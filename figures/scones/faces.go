package scones

import (
	"fmt"
	"slices"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/artifact"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot/fdiv"
)

// Faces is Figures 1 and 2 and Table 1: pictures to sharper pictures, and to others.
func Faces() lab.Figure {
	return lab.Figure{
		Name:  "scones/faces",
		Title: "Figures 1–2 and Table 1: blurred pictures to sharp ones",
		Shows: "Pictures of one half of a data set, blurred to half their resolution (the task ‘super-res.’) or as they are (‘identity’), and where regularised plans " +
			"send them in the other half, under KL and under χ²: on average (barycentric projection) and by samples of SCONES. At smoke and quick the pictures are CIFAR-10's, at paper CelebA's, which users bring. Table 1's " +
			"finding is checked: samples are nearer to the target than projections are, in the features of a classifier of these pictures. At the paper's soft-plus, β = 10, what is sampled of a χ² plan hardly depends on λ, " +
			"as Table 1's χ² columns hardly do: the soft-plus is wider than the potentials. Where no network is trained the score is the exact one of the noised " +
			"pictures, under which samples end at pictures of the target's half: it is the plan that is seen, not what a network invents.",
		Sizes: map[lab.Preset]string{
			lab.Smoke: "300 pictures of CIFAR-10 at 16 × 16, KL on one task and χ² on the other, at one λ, networks of 3 steps",
			lab.Quick: "CIFAR-10 (10,000 pictures where the subset is here) at 16 × 16, 128 sources; KL and χ² at the paper's three λ each, 1000 atoms, exact score of 2000 pictures, no networks",
			lab.Paper: "CelebA at 64 × 64, 5000 sources; KL and χ² at the paper's three λ each, critics of 8 × 2048, NCSNv2 of 128 features, 210,000 steps",
		},
		Decoders: []lab.Decoder{facesOf.Decoder()},
		Jobs: func(set lab.Setting) ([]lab.Job, error) {
			return facesOf.Jobs(set.Seed, facesGrid(set)...), nil
		},
		Draw:   drawFaces,
		Claims: claimFaces,
	}
}

// facesDivergences are those of Table 1, by their names in pictures.
var facesDivergences = []struct {
	f    fdiv.Divergence
	name string
}{{fdiv.KL, "KL"}, {fdiv.ChiSquare, "χ²"}}

func facesGrid(set lab.Setting) (out []facesParams) {
	p := set.Preset
	base := facesParams{
		CelebA: p == lab.Paper, Side: pick(p, 16, 16, 64), Most: pick(p, 300, 0, 0), Sources: pick(p, 12, 128, 5000), Exact: pick(p, 150, 2000, 0), Atoms: pick(p, 100, 1000, 2000),
		Device: set.Device,
	}
	if !base.CelebA {
		base.Data = data.Choose("cifar10")
	}
	if p != lab.Quick {
		base.Nets = facesNets{Depth: pick(p, 1, 0, 8), Width: pick(p, 8, 0, 2048), Features: pick(p, 2, 0, 128), Levels: pick(p, 5, 0, 500),
			Critic: pick(p, 3, 0, 5000), Score: pick(p, 3, 0, 210000), Projection: pick(p, 3, 0, 20000)}
	}
	all := map[fdiv.Divergence][]float64{fdiv.KL: {.1, .01, .005}, fdiv.ChiSquare: {.1, .01, .001}}
	for _, d := range facesDivergences {
		base.F = d.f
		out = append(out, lab.Grid(base,
			lab.Vary(func(p *facesParams, v float64) { p.Lambda = v }, all[d.f][:pick(p, 1, 3, 3)]...),
			lab.Vary(func(p *facesParams, v bool) { p.Super = v }, true, false))...)
	}
	if p == lab.Smoke { // super-res. under KL, identity under χ²
		out = slices.DeleteFunc(out, func(p facesParams) bool { return p.Super == (p.F == fdiv.ChiSquare) })
	}
	return out
}

// table1 is what the paper prints: FIDs on CelebA of SCONES and of the barycentric projection.
var table1 = map[fdiv.Divergence]map[bool]map[float64][2]float64{
	fdiv.KL: {
		true:  {.1: {35.59, 193.92}, .01: {35.77, 230.85}, .005: {43.80, 228.78}},
		false: {.1: {36.62, 195.64}, .01: {34.84, 217.24}, .005: {43.99, 217.67}},
	},
	fdiv.ChiSquare: {
		true:  {.1: {25.84, 190.10}, .01: {25.64, 216.54}, .001: {25.59, 212.72}},
		false: {.1: {25.51, 188.29}, .01: {25.65, 219.96}, .001: {27.88, 214.90}},
	},
}

func task(super bool) string {
	if super {
		return "super-res."
	}
	return "identity"
}

// printedFID is what Table 1 has beside a method, in brackets.
func (p facesParams) printedFID(method string) string {
	row := table1[p.F][p.Super][p.Lambda]
	switch method {
	case facesSCONES, facesNetwork:
		return fmt.Sprintf(" (%.4g)", row[0])
	case facesProjection, facesNetProjection:
		return fmt.Sprintf(" (%.4g)", row[1])
	}
	return ""
}

func drawFaces(s *lab.Store, set lab.Setting) (out lab.Exhibit, err error) {
	cells, err := lab.RecallAll(s, facesOf, set.Seed, facesGrid(set))
	if err != nil {
		return out, err
	}
	p := cells[0].Params
	label := fmt.Sprintf("%s at %d × %d in place of CelebA at 64 × 64", cells[0].Value.Name, p.Side, p.Side)
	table := lab.Table{Name: "table1", Caption: "Fréchet distances in the 84 features of a LeNet trained on the target's pictures, of equal numbers; in brackets the FID that the paper prints for CelebA, which is another scale",
		Header: []string{"divergence", "task", "λ", "method", "Fréchet distance", "mean cost", "samples a second"}}
	for _, d := range facesDivergences {
		panels := style.Panels{Columns: 2}
		var grids []style.ImageGrid
		most := 0
		for _, c := range cells {
			if c.Params.F != d.f {
				continue
			}
			grid, rows, err := facesPanel(c, d.name)
			if err != nil {
				return out, err
			}
			grids, table.Rows, most = append(grids, grid), append(table.Rows, rows...), max(most, len(grid.RowLabels))
		}
		for _, g := range grids {
			for len(g.RowLabels) < most { // so that all pictures are of one size
				g.Images, g.RowLabels = append(g.Images, make([][]float32, facesShown)...), append(g.RowLabels, "")
			}
			panels.Items = append(panels.Items, g)
		}
		out.Pictures = append(out.Pictures, lab.Picture{
			Name: d.f.String(),
			Caption: fmt.Sprintf("%s at λ times the mean of squares. Sources are pictures of one half of %s, targets the other half; potentials are those of %d atoms of each. Chains begin at the projection plus noise as wide as the plan's factor.%s",
				d.name, cells[0].Value.Name, p.Atoms, map[bool]string{true: " SCONES has the soft-plus of the paper, β = 10, where none is named."}[d.f == fdiv.ChiSquare]),
			Drawing: style.Figure{Body: panels, Width: style.TwoColumns, Badge: badge(set, label, sample.Note(p.Data, "cifar10"))},
		})
	}
	out.Tables = []lab.Table{table}
	out.Notes = []string{"FID needs Inception weights, which users bring (lab/eval/inception); a LeNet trained here takes their place, and its distances are comparable within this table alone.",
		"At β = 10 and mean cost |V| is far below 1/β for λ ≤ 0.01, so that log softplus(V) has nearly one slope, 0.72 β, and what is sampled is close to KL at λ = 1/(0.72 β) = 0.14, whatever the χ² plan's λ. β = 1, which the code ran, makes it 1.4: nearly the target alone. β = 1/λ samples the plan."}
	return out, nil
}

// facesPanel is the pictures of a cell, and its rows of the table.
func facesPanel(c lab.Result[facesParams, facesOut], divergence string) (grid style.ImageGrid, rows [][]string, err error) {
	p, v := c.Params, c.Value
	grid = style.ImageGrid{C: 3, H: p.Side, W: p.Side, Columns: facesShown, Title: fmt.Sprintf("%s, %s, λ = %g", divergence, task(p.Super), p.Lambda)}
	at := []string{divergence, task(p.Super), fmt.Sprint(p.Lambda)}
	for k, m := range v.Methods {
		y, err := artifact.Read(c.Open, fmt.Sprintf("%d.npy", k))
		if err != nil {
			return grid, nil, err
		}
		grid.Images, grid.RowLabels = append(grid.Images, style.Rows(y)...), append(grid.RowLabels, m.Name)
		rate := perSecond(m.Seconds)
		if slices.Contains([]string{facesSource, facesProjection, facesNetProjection}, m.Name) { // which were there already
			rate = perSecond(0)
		}
		rows = append(rows, append(slices.Clone(at), m.Name, number3(m.Frechet)+p.printedFID(m.Name), number3(m.Cost), rate))
	}
	return grid, append(rows, append(at, "training pictures of the target", number3(v.Floor), fmt.Sprintf("%.3g (of the plan of atoms)", v.Cost), "")), nil
}

func claimFaces(s *lab.Store, set lab.Setting) (out []lab.Claim, err error) {
	cells, err := lab.RecallAll(s, facesOf, set.Seed, facesGrid(set))
	if err != nil {
		return nil, err
	}
	firsts := map[bool]facesOut{} // of each task under χ²: the cell of the largest λ
	for _, c := range cells {
		p := c.Params
		out = append(out, claimFacesAt(p, c.Value)...)
		largest, ok := firsts[p.Super]
		switch {
		case p.F != fdiv.ChiSquare:
		case !ok:
			firsts[p.Super] = c.Value
		default:
			out = append(out, lab.Claim{What: fmt.Sprintf("%s, %s: mean cost of SCONES at β = 10, λ = %g over that at λ = 0.1", p.F, task(p.Super), p.Lambda), Source: "Table 1: χ² columns that hardly differ",
				Got: c.Value.cost(facesSCONES) / largest.cost(facesSCONES), Want: 1, RelTol: .1, Why: "log softplus of potentials below 1/β is nearly linear, with a slope that λ does not change; the plans' own costs differ by a third and more"})
		}
	}
	if set.Preset == lab.Smoke {
		for i := range out {
			out[i].SkipReason = "12 sources and networks of 3 steps"
		}
	}
	return out, nil
}

func claimFacesAt(p facesParams, v facesOut) (out []lab.Claim) {
	at := fmt.Sprintf("%s, %s, λ = %g: ", p.F, task(p.Super), p.Lambda)
	source, why, most := "Table 1", "Table 1 has ratios of 0.12 to 0.2", .3
	if p.F == fdiv.KL && p.Lambda < .01 && p.Nets.Depth == 0 {
		source, why, most = "samples are nearer than their mean", "a comparison; between 1000 atoms of 16 × 16 a plan at this λ has few targets for a source, and its projection is not as blurred as Table 1's", 1
	}
	out = append(out, lab.Claim{What: at + "Fréchet distance of SCONES, exact score, over the projection's", Source: source, Got: v.ratio(facesSCONES, facesProjection), Relation: lab.AtMost, Want: most, Why: why})
	sampled, few := facesSCONES, ""
	if p.F == fdiv.ChiSquare && p.Lambda < 1./facesBeta {
		sampled = facesSharp
	}
	if p.F == fdiv.ChiSquare && p.Lambda < .01 && p.Nets.Depth == 0 {
		few = "at this λ a source is linked with few of 1000 atoms; chains under the score of 2000 pictures end nearer than draws of the atoms do"
	}
	off, because := .25, "sources that are not atoms, and potentials of few atoms"
	if p.Lambda >= .1 { // where pairs at random are within .25: 0.0955 and 0.1088 on CIFAR-10, of standard deviation 0.06
		off, because = .1, "two standard errors of the mean of 128 costs; pairs at random cost a fifth more than KL's plan"
		if p.F == fdiv.ChiSquare && p.Nets.Depth == 0 {
			few = "pairs at random cost a tenth more, which is two standard errors of 128 sources"
		}
	}
	out = append(out, lab.Claim{What: at + "mean cost of " + sampled + " over that of the plan of atoms", Source: "it is that plan that is sampled", Got: v.cost(sampled) / v.Cost, Want: 1, RelTol: off, Why: because, SkipReason: few})
	if p.Nets.Depth > 0 {
		out = append(out, lab.Claim{What: at + "the same by networks", Source: "Table 1", Got: v.ratio(facesNetwork, facesNetProjection), Relation: lab.AtMost, Want: .3, Why: why})
	}
	return out
}
