package scones

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/arch"
	"coupling/lab/nn/train"
	"coupling/ot"
	"coupling/ot/fdiv"
	"coupling/score"
	"coupling/score/dsm"
	"coupling/score/eval/inception"
	"coupling/score/scones"
	"coupling/score/scones/neural"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// FacesParams are the plans of one divergence, for both tasks and several λ of the mean cost. They
// share data, judge and scores.
type FacesParams struct {
	CelebA    bool            `json:"celeba" doc:"CelebA, else Fashion-MNIST"`
	F         fdiv.Divergence `json:"f" enum:"kl,chi2" doc:"divergence that regularises"`
	Lambdas   []float64       `json:"lambdas" min:">0" doc:"λ over the mean cost"`
	Side      int             `json:"side" min:"4" doc:"pixels of a side of a picture"`
	Most      int             `json:"most" min:"0" doc:"pictures in all; 0: all"`
	Sources   int             `json:"sources" min:"1" doc:"pictures that are transported"`
	Exact     int             `json:"exact" min:"1" doc:"pictures whose noised score is taken"`
	Atoms     int             `json:"atoms" min:"1" doc:"points of each side of the discrete plan"`
	Parts     int             `json:"parts" min:"0" doc:"Gaussians of the mixture score; 0: none is fitted"`
	Nets      FacesNets       `json:"nets"`
	Inception string          `json:"inception,omitempty" doc:"weights for distances; empty: a LeNet's"`
	Device    string          `json:"device" doc:"cpu, cuda:0 or cuda:0,tf32"`
	Data      data.Origin     `json:"data,omitzero" enum:",subset,sample" doc:"files; empty: the official ones"`
}

// FacesNets are the sizes of networks. Without critics (ours), plans are of atoms, the score network
// is a U-Net that learns what the mixture lacks, and projections are dense layers.
type FacesNets struct {
	Depth      int `json:"depth" min:"0" doc:"hidden layers of a critic; 0: plans of atoms alone"`
	Width      int `json:"width" min:"0" doc:"of those layers, or of the projection's"`
	Features   int `json:"features" min:"0" doc:"channels of the score network"`
	Levels     int `json:"levels" min:"0" doc:"noise levels of the score network"`
	Critic     int `json:"critic" min:"0" doc:"steps of the critics"`
	Score      int `json:"score" min:"0" doc:"steps of the score network; 0: no networks"`
	Projection int `json:"projection" min:"0" doc:"steps of the barycentric projection"`
	Batch      int `json:"batch,omitempty" min:"0" doc:"of the score network; the projection takes half"`
}

// FacesMethod is a way to transport and what comes of it.
type FacesMethod struct {
	Name    string  `json:"name"`
	Frechet float64 `json:"frechet"` // a FID in the features of Inception
	KID     float64 `json:"kid"`
	Cost    float64 `json:"cost"` // mean square of y − x
	Own     float64 `json:"own"`  // share whose nearest source is their own
	// Copies is the share that is nearer to a training picture of the target than half of what held
	// out ones are on average.
	Copies float64 `json:"copies"`
}

// The methods.
const (
	facesSource        = "source"
	facesProjection    = "barycentric projection"
	facesExact         = "SCONES, exact score"
	facesMixture       = "SCONES, mixture score"
	facesSharp         = "SCONES, β = 1/λ"
	facesLoose         = "SCONES, β = 1"
	facesDraws         = "draws of the plan"
	facesRandom        = "targets at random"
	facesNetProjection = "projection by a network"
	facesNetwork       = "SCONES, networks"
)

// FacesPlan is what comes of one task at one λ.
type FacesPlan struct {
	Super   bool          `json:"super"` // sources are blurred
	Lambda  float64       `json:"lambda"`
	Cost    float64       `json:"cost"` // of the plan of atoms
	Methods []FacesMethod `json:"methods"`
}

// FacesOut has the plans. Artifacts: the first results of each method, by the numbers of plan and method.
type FacesOut struct {
	Name  string      `json:"name"`  // of the data
	Close float64     `json:"close"` // the share of pictures held out that would count as copies
	Floor float64     `json:"floor"` // Fréchet distance of as many other pictures of the target's half
	Plans []FacesPlan `json:"plans"`
}

// at is the place of a method, -1 where it is missing.
func (p FacesPlan) at(name string) int {
	return slices.IndexFunc(p.Methods, func(m FacesMethod) bool { return m.Name == name })
}

// method returns what was measured of one, NaN where it is missing.
func (p FacesPlan) method(name string) FacesMethod {
	if i := p.at(name); i >= 0 {
		return p.Methods[i]
	}
	return FacesMethod{Frechet: math.NaN(), Cost: math.NaN(), Own: math.NaN(), Copies: math.NaN()}
}

// pair returns the methods that stand for SCONES and for its projection: those of networks where
// there are, else the mixture's, else the exact score's.
func (p FacesPlan) pair() (sampled, projected string) {
	switch {
	case p.at(facesNetwork) >= 0:
		return facesNetwork, facesNetProjection
	case p.at(facesMixture) >= 0:
		return facesMixture, facesProjection
	}
	return facesExact, facesProjection
}

var facesOf = lab.Experiment[FacesParams, FacesOut]{
	Name:    "scones/faces",
	Version: 6,
	Run:     runFaces,
	Work:    FacesParams.work,
}

// facesGrid has a cell for each divergence.
func facesGrid(fs ...fdiv.Divergence) func(lab.Setting) []FacesParams {
	return func(set lab.Setting) (out []FacesParams) {
		p := set.Preset
		base := FacesParams{
			CelebA:    p == lab.Paper,
			Side:      lab.Pick(p, 16, 32, 32, 64),
			Most:      lab.Pick(p, 300, 4000, 12000, 0),
			Sources:   lab.Pick(p, 12, 32, 100, 5000),
			Exact:     lab.Pick(p, 100, 600, 1000, 2000),
			Atoms:     lab.Pick(p, 60, 400, 800, 2000),
			Parts:     lab.Pick(p, 4, 40, 80, 0),
			Inception: inception.Chosen(),
			Device:    set.Device,
		}
		if !base.CelebA {
			base.Data = data.Choose("fashion-mnist")
		}
		if p != lab.Quick {
			base.Nets = FacesNets{
				Depth:      lab.Pick(p, 1, 0, 0, 8),
				Width:      lab.Pick(p, 8, 0, 256, 2048),
				Features:   lab.Pick(p, 2, 0, 16, 128),
				Levels:     lab.Pick(p, 5, 0, 10, 500),
				Critic:     lab.Pick(p, 3, 0, 0, 5000),
				Score:      lab.Pick(p, 3, 0, 800, 210000),
				Projection: lab.Pick(p, 3, 0, 150, 20000),
				Batch:      lab.Pick(p, 16, 0, 32, 128),
			}
		}
		for _, f := range fs {
			base.F, base.Lambdas = f, []float64{.1, .01, .005}
			if f == fdiv.ChiSquare {
				base.Lambdas = []float64{.1, .01, .001}
			}
			base.Lambdas = base.Lambdas[:kit.Smoke(p, 2, 3)]
			out = append(out, base)
		}
		return out
	}
}

// facesStudy is what Figures 1 and 2 and Table 1 have in common.
func facesStudy(fs ...fdiv.Divergence) lab.Study[FacesParams, FacesOut] {
	seconds := float64(len(fs))
	return lab.Study[FacesParams, FacesOut]{
		Sizes: kit.ByPreset("300 pictures of Fashion-MNIST at 16 × 16, two λ, networks of 3 steps",
			"4000 pictures of Fashion-MNIST at 32 × 32, 32 sources; the paper's three λ, 400 atoms, score a mixture "+
				"of 40 Gaussians, exact score of 600 pictures, no networks",
			"12,000 pictures of Fashion-MNIST at 32 × 32, 100 sources; the paper's three λ, plans of 800 atoms; a "+
				"U-Net of width 16 that learns what a mixture of 80 Gaussians lacks of the score below σ = 0.4, 800 "+
				"steps; projections by dense layers, 150 steps",
			"CelebA at 64 × 64, 5000 sources; the paper's three λ, critics of 8 × 2048, one NCSNv2 of 128 features "+
				"a divergence, 210,000 steps"),
		Seconds:    kit.ByPreset(3*seconds, 42*seconds, 600*seconds),
		Experiment: facesOf,
		Grid:       facesGrid(fs...),
	}
}

// The garbage on which claims fail.
var (
	averagedFaces = facesNull("averages in place of samples", func(m *FacesMethod, p FacesPlan) {
		_, projected := p.pair()
		m.Frechet = p.method(projected).Frechet
	})
	exchanged = facesNull("samples and averages in each other's places", func(m *FacesMethod, p FacesPlan) {
		switch sampled, projected := p.pair(); m.Name {
		case sampled:
			m.Frechet = p.method(projected).Frechet
		case projected:
			m.Frechet = p.method(sampled).Frechet
		}
	})
	randomTargets = facesNull("pictures of the target at random", func(m *FacesMethod, p FacesPlan) {
		m.Cost, m.Own = p.method(facesRandom).Cost, p.method(facesRandom).Own
	})
	storedFaces = facesNull("stored pictures of the target",
		func(m *FacesMethod, p FacesPlan) { m.Copies = p.method(facesDraws).Copies })
	// planItself has samples of the plan's own cost, which depends on λ.
	planItself = facesNull("samples of the χ² plan itself", func(m *FacesMethod, p FacesPlan) { m.Cost = p.Cost })
)

// facesNull is the null in which each method but the random targets is changed.
func facesNull(name string, change func(*FacesMethod, FacesPlan)) lab.Null {
	return kit.Null(name, facesOf, func(_ FacesParams, v *FacesOut) {
		v.Plans = slices.Clone(v.Plans)
		for j, before := range v.Plans {
			v.Plans[j].Methods = slices.Clone(before.Methods)
			for k, m := range before.Methods {
				if m.Name != facesRandom {
					change(&v.Plans[j].Methods[k], before)
				}
			}
		}
	})
}

// Fig1 is Figure 1: blurred pictures and what SCONES makes of them.
func Fig1() lab.Study[FacesParams, FacesOut] {
	s := facesStudy(fdiv.KL)
	s.Name, s.Title = "scones/fig1", "Figure 1: blurred pictures to sharp ones"
	s.Shows =
		"Blurred pictures of one half of a data set, and where the KL plan at the smallest λ sends them in the " +
			"other half: on average (barycentric projection), and by samples of SCONES, in which the source is to " +
			"be seen. Below the paper's size the pictures are Fashion-MNIST's and the score is that of a mixture of " +
			"Gaussians, at full with a U-Net that learns what this lacks; under the exact score of the noised " +
			"pictures samples end at pictures of the target's half."
	s.Draw = func(v facesView) (lab.Exhibit, error) {
		c := v.Cells[0]
		smallest := c.Params.Lambdas[len(c.Params.Lambdas)-1]
		var rows []facesRow
		for i, p := range c.Value.Plans {
			if p.Super && p.Lambda == smallest {
				sampled, projected := p.pair()
				for _, name := range slices.Compact([]string{facesSource, projected, sampled, facesExact, facesDraws}) {
					rows = append(rows, facesRow{i, name, name})
				}
			}
		}
		return facesExhibit(v, c,
			fmt.Sprintf(
				"Blurred pictures of one half of %s, and what the KL plan at λ = %g times the mean of squares makes "+
					"of them.", c.Value.Name, smallest), rows)
	}
	s.Claims = func(v facesView) ([]lab.Claim, error) {
		return claimFaces(v,
			func(c FacesParams, p FacesPlan) bool { return p.Super && p.Lambda == c.Lambdas[len(c.Lambdas)-1] }), nil
	}
	return s
}

// Fig2 is Figure 2: the same at several λ.
func Fig2() lab.Study[FacesParams, FacesOut] {
	s := facesStudy(fdiv.KL)
	s.Name, s.Title = "scones/fig2", "Figure 2: what λ does to samples"
	s.Shows =
		"Blurred pictures and samples of SCONES under KL at the paper's three λ, from the same noise. At the " +
			"smallest the source is to be seen in the sample; at λ = 0.1 the plan is nearly the independent " +
			"coupling, and it is not."
	s.Draw = func(v facesView) (lab.Exhibit, error) {
		c := v.Cells[0]
		rows := []facesRow{{0, facesSource, facesSource}}
		sampled, _ := c.Value.Plans[0].pair()
		for _, name := range slices.Compact([]string{sampled, facesExact}) {
			for i, p := range c.Value.Plans {
				if p.Super {
					rows = append(rows, facesRow{i, name,
						fmt.Sprintf("%s, λ = %g: %s own", strings.TrimPrefix(name, "SCONES, "), p.Lambda,
							percent(p.method(name).Own))})
				}
			}
		}
		return facesExhibit(v, c,
			fmt.Sprintf(
				"Blurred pictures of one half of %s and samples of KL plans to the other, the same noise at each λ. "+
					"“Own” is the share of samples whose nearest source is their own; of pairs at random it is %s.",
				c.Value.Name, percent(1/float64(c.Params.Sources))), rows)
	}
	s.Claims = func(v facesView) ([]lab.Claim, error) {
		out := claimFaces(v, func(_ FacesParams, p FacesPlan) bool { return p.Super })
		plans := v.Cells[0].Value.Plans
		first, last := plans[0], plans[len(v.Cells[0].Params.Lambdas)-1]
		sampled, _ := first.pair()
		return append(out, kit.AtLeastUnless(out[0].SkipReason, "share of samples whose nearest source is their "+
			"own, the smallest λ over λ = 0.1", "Figure 2",
			last.method(sampled).Own/max(first.method(sampled).Own, 1/float64(v.Cells[0].Params.Sources)),
			2, "“This effect diminishes at increased regularization”", randomTargets)), nil
	}
	return s
}

// Tab1 is Table 1: distances of samples and of projections.
func Tab1() lab.Study[FacesParams, FacesOut] {
	s := facesStudy(fdiv.KL, fdiv.ChiSquare)
	s.Name, s.Title = "scones/tab1", "Table 1: distances of samples and projections"
	s.Shows =
		"Two tasks, blurred pictures to sharp ones (‘super-res.’) and pictures to pictures (‘identity’), under KL " +
			"and under χ². Table 1's finding is checked: samples are nearer to the target than projections are, by " +
			"FID where Inception's weights are there (--inception), else in the features of a classifier of these " +
			"pictures, which is another scale. At the paper's soft-plus, β = 10, what is sampled of a χ² plan " +
			"hardly depends on λ, as Table 1's χ² columns hardly do: the soft-plus is wider than the potentials."
	s.Draw = drawTab1
	s.Claims = func(v facesView) ([]lab.Claim, error) {
		return claimFaces(v, func(FacesParams, FacesPlan) bool { return true }), nil
	}
	return s
}

// facesRow is a row of pictures: a method of a plan, and its name.
type facesRow struct {
	plan         int
	method, name string
}

// facesExhibit draws rows of pictures.
func facesExhibit(v facesView, c lab.Result[FacesParams, FacesOut], caption string,
	rows []facesRow) (lab.Exhibit, error) {
	p := c.Params
	grid := style.ImageGrid{C: p.channels(), H: p.Side, W: p.Side, Columns: facesShown, Invert: !p.CelebA}
	for _, r := range rows {
		y := kit.Matrix(c.Open, facesFile(r.plan, c.Value.Plans[r.plan].at(r.method)))
		grid.Images, grid.RowLabels = append(grid.Images, style.Rows(y)...), append(grid.RowLabels, r.name)
	}
	return lab.Exhibit{Pictures: kit.Wide(grid, v.Badge(p.badge(c.Value.Name), sample.Note(p.Data, "fashion-mnist")),
		caption)}, nil
}

func (p FacesParams) badge(name string) string {
	return fmt.Sprintf("%s at %d × %d in place of CelebA at 64 × 64", name, p.Side, p.Side)
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

// wasserstein2 are the unregularised methods in the caption of Table 1, whose networks are not among ours.
var wasserstein2 = []struct{ name, task, fid string }{
	{"W₂ GAN", task(true), "55.77"}, {"W₂ GAN", task(false), "32.617"}, {"W₂ Gen", task(true), "32.80"},
	{"W₂ Gen", task(false), "20.57"},
}

func task(super bool) string {
	if super {
		return "super-res."
	}
	return "identity"
}

func drawTab1(v facesView) (lab.Exhibit, error) {
	picture := style.Table{Header: []string{""}, Left: []int{0}}
	distance, features := inception.Distance(v.Cells[0].Params.Inception),
		"in the 84 features of a LeNet trained on the target's pictures"
	if v.Cells[0].Params.Inception != "" {
		features = "in the features of Inception-v3"
	}
	all := kit.Table("methods", "All methods; Fréchet distances "+features+", of equal numbers",
		"divergence | task | λ | method | "+distance+" | KID | mean cost | own | copies")
	rows := map[string][]string{}
	var names []string
	add := func(name string, value float64) {
		if rows[name] == nil {
			names = append(names, name)
		}
		rows[name] = append(rows[name], number3(value))
	}
	for _, c := range v.Cells {
		divergence := map[fdiv.Divergence]string{fdiv.KL: "KL", fdiv.ChiSquare: "χ^{2}"}[c.Params.F]
		for _, l := range c.Params.Lambdas {
			picture.Header = append(picture.Header, fmt.Sprintf("%s, λ = %g", divergence, l))
		}
		for _, p := range c.Value.Plans {
			sampled, projected := p.pair()
			printed := table1[c.Params.F][p.Super][p.Lambda]
			for k, name := range []string{sampled, projected} {
				short := []string{"SCONES, ", "projection, "}[k] + task(p.Super)
				add(short+": "+distance+" here", p.method(name).Frechet)
				add(short+": the paper's FID", printed[k])
			}
			for _, m := range p.Methods {
				all.Rows = append(all.Rows, kit.Row("%s | %s | %v | %s | %.3g | %.3g | %.3g | %s | %s",
					c.Params.F, task(p.Super), p.Lambda, m.Name, m.Frechet, m.KID, m.Cost, percent(m.Own),
					percent(m.Copies)))
			}
			all.Rows = append(all.Rows, kit.Row("%s | %s | %v | %s | %.3g | – | %.3g | – | %s", c.Params.F.String(),
				task(p.Super), p.Lambda, "plan of atoms, and training pictures of the target", c.Value.Floor, p.Cost,
				percent(c.Value.Close)))
		}
	}
	for _, w := range wasserstein2 {
		all.Rows = append(all.Rows, []string{"none", w.task, "0", w.name + ", as printed: FID on CelebA, not " +
			"trained here", w.fid, "–", "–", "–", "–"})
	}
	for _, name := range names {
		picture.Rows = append(picture.Rows, append([]string{name}, rows[name]...))
	}
	c := v.Cells[0]
	return lab.Exhibit{
		Pictures: kit.Wide(picture, v.Badge(c.Params.badge(c.Value.Name), sample.Note(c.Params.Data, "fashion-mnist")),
			fmt.Sprintf("Here: Fréchet distances %s (training pictures of the target: %s). The paper: FID on CelebA.",
				features, number3(c.Value.Floor))),
		Tables: []lab.Table{all, c.Params.settings()},
		Notes: []string{"Projections here come nearer to the target as λ falls, where the paper's go further away: " +
			"between hundreds of atoms a plan at small λ has few targets for a source, and their mean is sharp; the " +
			"paper's projections are networks that average over 80,000 pictures.",
			"FID needs Inception's weights, which users bring (--inception); without them a LeNet trained here " +
				"takes its place, whose distances are comparable within this table alone.",
			"At β = 10 and mean cost |V| is far below 1/β for λ ≤ 0.01, so that log softplus(V) has nearly one " +
				"slope, 0.72 β, and what is sampled is close to KL at λ = 1/(0.72 β) = 0.14, whatever the χ² plan's " +
				"λ. β = 1, which the code ran, makes it 1.4: nearly the target alone. β = 1/λ samples the plan."},
	}, nil
}

// settings are the paper's Tables 5 and 6 beside what its code does and what ran.
func (p FacesParams) settings() lab.Table {
	network, trained, critics, criticsFor, projection, chains := "none", "–",
		fmt.Sprintf("of a plan of %d atoms", p.Atoms), "–", "of that plan",
		"from the width of the factor to 0.129 (mixture) or 0.01 (exact), each level 2/3 of the one before; ε = "+
			"5e-5 at 0.01; 6 or 5"
	if n := p.Nets; n.Depth > 0 {
		network, trained = fmt.Sprintf("NCSNv2, %d features", n.Features),
			fmt.Sprintf("rate 1e-4, average .999, %d steps, batch %d", n.Score, n.Batch)
		critics, criticsFor = fmt.Sprintf("%d layers of %d", n.Depth, n.Width),
			fmt.Sprintf("rate 1e-5, %d steps, batch 1000", n.Critic)
		projection = fmt.Sprintf("NCSNv2, %d features; rate 1e-6 falling, %d steps, batch %d", max(n.Features*3/8, 2),
			n.Projection, n.Batch/2)
		chains = fmt.Sprintf(
			"%d levels from 90 (χ²: 9) to 0.01, those below the width of the factor; 15e-7, 5 (KL at 0.005: 1e-6, 7)",
			n.Levels)
	}
	halves, flips := "at random", "none"
	if p.CelebA {
		halves, flips = "even and odd numbers", "p = 0.5"
	}
	return kit.Table("settings", "Tables 5 and 6 of the paper, its code, and what ran",
		"setting | paper | its code | here",
		kit.Row("pictures | CelebA, centre crop of 140, 64 × 64 | the same | %d × %d", p.Side, p.Side),
		kit.Row("resize | nearest neighbour | bilinear | bilinear"),
		kit.Row("halves | equal | even and odd numbers | %s", halves),
		kit.Row("horizontal flips | p = 0.5 | p = 0.5 | %s", flips),
		kit.Row("score | NCSNv2, 128 features | the same | %s", network),
		kit.Row("its training | rate 1e-4, average .999, 210,000 steps, batch 128 | the same | %s", trained),
		kit.Row("potentials | 8 layers of 2048 | the same | %s", critics),
		kit.Row("their training | rate 1e-6, 5000 steps, batch 1000 | rate 1e-5, 5001 steps | %s", criticsFor),
		kit.Row("projection | NCSNv2; rate 1e-7, 20,000 steps, batch 64 | 48 features; rate 1e-6 | %s", projection),
		kit.Row("noise levels; ε, steps a level | KL (90, 0.1), χ² (9, 0.01); 15e-7, 500 levels | KL (90, 0.01), χ² "+
			"(9, 0.01), 500 levels; 15e-7, 5 (KL at 0.005: 1e-6, 7) | %s",
			chains),
		kit.Row("sharpness β of the soft-plus | 10 | 1 (10 is read from the wrong place) | 10, and 1 and 1/λ"))
}

// claimsFID compares with the FIDs of Table 1, where they can be had: of CelebA, with Inception's
// weights. Without these no FID was measured.
func claimsFID(preset lab.Preset, c FacesParams, at string, p FacesPlan) (out []lab.Claim) {
	other, weights := "other pictures than the paper's", ""
	if inception.Distance(c.Inception) != "FID" {
		weights = "a FID needs Inception's weights: --inception"
	}
	sampled, projected := p.pair()
	for k, name := range []string{sampled, projected} {
		fid := p.method(name).Frechet
		if weights != "" {
			fid = math.NaN()
		}
		out = append(out, kit.NearUnless(lab.Pick(preset, other, other, other, weights), at+name+": FID",
			"Table 1", fid, table1[c.F][p.Super][p.Lambda][k], .25*table1[c.F][p.Super][p.Lambda][k],
			"columns of Table 1 that differ in λ alone differ by up to a quarter", exchanged))
	}
	return out
}

// claimFaces is the claims on the plans that keep selects.
func claimFaces(v facesView, keep func(FacesParams, FacesPlan) bool) (out []lab.Claim) {
	small := kit.Smoke(v.Preset, "12 sources and networks of 3 steps", "")
	for _, c := range v.Cells {
		kl := c.Params.F == fdiv.KL
		for _, p := range c.Value.Plans {
			if !keep(c.Params, p) {
				continue
			}
			at := fmt.Sprintf("%s, %s, λ = %g: ", c.Params.F, task(p.Super), p.Lambda)
			sampled, projected := p.pair()
			few, least, why := small, .75, "Table 1 has ratios of 0.12 to 0.2, for faces, by its networks"
			if p.Lambda <= .01 && c.Params.Nets.Depth == 0 {
				least, why = .95, "sharper; between so few atoms a plan at this λ has few targets for a source, so "+
					"that averages are sharp too: a bound fixed before the runs that it judges"
			}
			if kl && p.Lambda < .1 && c.Params.Nets.Score == 0 {
				few = "between so few atoms a KL plan at this λ has few targets for a source, and its projection is " +
					"as sharp as they are"
			}
			out = append(out, kit.AtMostUnless(few, at+"Fréchet distance of SCONES over the projection's", "Table 1",
				p.method(sampled).Frechet/p.method(projected).Frechet, least, why, averagedFaces))
			out = append(out, claimsFID(v.Preset, c.Params, at, p)...)
			random := p.method(facesRandom)
			out = append(out, lab.Claim{
				What:       at + "copies of training pictures",
				Source:     "samples, not stored pictures",
				Got:        p.method(sampled).Copies,
				Relation:   lab.AtMost,
				Want:       c.Value.Close,
				AbsTol:     .1,
				Why:        "the share of pictures held out that are as near, and two standard errors of 32",
				SkipReason: small,
				Null:       storedFaces,
			})
			if p.Lambda < .1 && kl {
				out = append(out,
					kit.NearUnless(small, at+"mean cost of SCONES over the plan's",
						"Figure 1: samples of the plan, whose projection has a quarter of its cost",
						p.method(sampled).Cost/p.Cost, 1.25, .75,
						"from half to twice, fixed before the runs that it judges: a projection forgets the spread "+
							"and has less, and pairs at random have more", randomTargets),
					kit.AtLeastUnless(small,
						at+"share of samples whose nearest source is their own, over that of pairs at random",
						"Figure 1", p.method(sampled).Own/max(random.Own, 1/float64(c.Params.Sources)), 4,
						"four of the sources by chance have a probability of 2 %", randomTargets))
			}
			if !kl && p.Lambda < c.Params.Lambdas[0] {
				i := slices.IndexFunc(c.Value.Plans, func(q FacesPlan) bool { return q.Super == p.Super })
				first := c.Value.Plans[i]
				out = append(out, kit.NearUnless(small, at+"mean cost of SCONES at β = 10 over that at λ = 0.1",
					"Table 1: χ² columns that hardly differ", p.method(sampled).Cost/first.method(sampled).Cost, 1,
					.15, "log softplus of potentials below 1/β is nearly linear, with a slope that λ does not "+
						"change; the plans' own costs differ by a third and more", planItself))
			}
		}
	}
	return out
}

// facesBeta is the sharpness of the soft-plus of the paper's χ² plans between faces.
const facesBeta = 10

// compatibility is what is sampled: under χ² the paper's, smoothed.
func (p FacesParams) compatibility(lambda float64) scones.Compatibility {
	k := scones.Compatibility{F: p.F, Lambda: lambda}
	if p.F == fdiv.ChiSquare {
		k.Beta = facesBeta
	}
	return k
}

// faces is a divergence under way: what its plans share.
type faces struct {
	p               FacesParams
	c               *lab.Cell
	dev             *device.Device
	target          *data.Images          // for training
	others          *data.Images          // held out
	source, sources map[bool]*data.Images // of each task, true for super-res.: for training and held out
	// root mean square difference of held out pictures of the target to the nearest training
	// picture, a mean
	fresh  float64
	fields map[string]score.Field // scores of the target
	levels []float64              // of the score network
	judge  *judge
	out    FacesOut
}

func runFaces(ctx context.Context, c *lab.Cell, p FacesParams) (FacesOut, error) {
	f := &faces{p: p, c: c}
	f.load(ctx)
	f.learnScores(ctx)
	for _, super := range []bool{true, false} {
		for _, lambda := range p.Lambdas {
			plan := &facesPlan{faces: f, x: f.sources[super].Mat(), Plan: FacesPlan{Super: super, Lambda: lambda}}
			plan.run(ctx)
			f.out.Plans = append(f.out.Plans, plan.Plan)
		}
	}
	return f.out, nil
}

// halves reads the data set: training pictures of the source and of the target, and as many of either held out.
// Faces are dealt by even and odd numbers and come with their mirror images, as in the paper's code, clothes at random.
func (f *faces) halves(ctx context.Context) []*data.Images {
	rng := f.c.Rand("pictures")
	if !f.p.CelebA {
		m := lab.Must(data.FashionMNIST(ctx, sample.From(f.p.Data), data.Train))
		m = lab.Must(m.Pick(rng, pickMost(m.Len(), f.p.Most)))
		m = lab.Must(lab.Must(m.Scale(0, 1)).Pad(2, 2))
		if f.p.Side != 32 {
			m = lab.Must(m.Resize(f.p.Side, f.p.Side, data.Bilinear))
		}
		half, held := f.heldOut(m.Len())
		return lab.Must(m.Partition(f.c.Rand("halves"), half-held, half-held, held, held))
	}
	m := lab.Must(data.CelebA{Size: f.p.Side, Label: "Male"}.Open())
	half, held := f.heldOut(pickMost(m.Len(), f.p.Most))
	parts := make([]*data.Images, 4)
	for side := range 2 {
		numbers := rng.Perm(m.Len() / 2)[:half]
		for i := range numbers {
			numbers[i] = 2*numbers[i] + 1 - side
		}
		of := lab.Must(m.Take(ctx, numbers))
		parts[side], parts[side+2] = of.Slice(0, half-held).WithMirrored(), of.Slice(half-held, half)
	}
	return parts
}

// heldOut is half of n pictures, and how many of a half are held out.
func (f *faces) heldOut(n int) (half, held int) { return n / 2, min(f.p.Sources, n/4) }

// load opens the device, reads the halves, blurs the sources of one task, and trains the classifier
// whose features are looked at, on the target's half.
func (f *faces) load(ctx context.Context) {
	parts := f.halves(ctx)
	f.dev, f.out.Name = lab.Must(f.c.Device(f.p.Device)), parts[0].Name
	f.target, f.others = parts[1], parts[3]
	f.source, f.sources = map[bool]*data.Images{false: parts[0]}, map[bool]*data.Images{false: parts[2]}
	for _, tasks := range []map[bool]*data.Images{f.source, f.sources} {
		small := lab.Must(tasks[false].Resize(f.p.Side/2, f.p.Side/2, data.Bilinear))
		tasks[true] = lab.Must(small.Resize(f.p.Side, f.p.Side, data.Bilinear))
	}
	f.judge = newJudge(ctx, f.dev, f.target, f.others, 3, f.p.Inception, f.c.Rand("judge"))
	off := nearest(ctx, f.others.Mat(), f.target.Mat())
	f.fresh, f.out.Floor = stat.Mean(off, nil), f.judge.Floor
	f.out.Close = f.copies(off)
}

// copies is the share of pictures that are so much nearer to training pictures than those held out are.
func (f *faces) copies(off []float64) float64 {
	return share(off, func(_ int, v float64) bool { return v < f.fresh/2 })
}

// levels are those of the score network.
func (p FacesParams) levels() ([]float64, error) {
	highest := 90.
	if p.F == fdiv.ChiSquare {
		highest = 9
	}
	return score.Geometric(highest, facesLast, p.Nets.Levels)
}

// unetFirst is the first noise level of a U-Net; above it the mixture's score stands alone.
const unetFirst = .4

// learnScores sets up the exact score, fits the mixture, and trains the one score network of all plans.
func (f *faces) learnScores(ctx context.Context) {
	n := f.p.Nets
	mixture := score.FitMixture{Parts: f.p.Parts, Axes: min(60, f.target.Len()/2), Steps: 10}
	f.fields = scoresOf(ctx, f.dev, f.target, f.p.Exact, mixture, f.c.Rand("scores"))
	if n.Score == 0 {
		return
	}
	_, c, h, w := f.target.Shape()
	t := dsm.Training{Steps: n.Score, Batch: n.Batch, Rate: 1e-4, Decay: .999}
	var net nn.Layer
	if n.Depth > 0 {
		f.levels = lab.Must(f.p.levels())
		net = arch.NCSNv2{Channels: c, Features: n.Features, Sigmas: f.levels}.Net()
	} else {
		f.levels = lab.Must(score.Geometric(unetFirst, facesLast, n.Levels))
		mean, spread := moments(f.target.Mat())
		unet := dsm.DenoisingUNet(mean, spread, f.levels, c, n.Features)
		unet.OnBase, net, t.Base = true, unet, f.fields[mixtureScore]
		t.Rate, t.Decay, t.Schedule = digitsScoreRate, digitsDecay, train.Linear(n.Score, .05)
	}
	t.Sigmas = f.levels
	f.fields[networkScore] = trainScore(ctx, f.c, f.dev, t, net, f.c.Rand("score"), f.target.Mat(), []int{c, h, w})
}

// facesLast is the last noise level, and facesStep its step.
const facesLast, facesStep = .01, 5e-5

// facesPlan is a plan under way.
type facesPlan struct {
	*faces
	x    *mat.Dense // sources
	Plan FacesPlan
}

// width is that of the factor exp(−s·c) where s is the steepest slope of log M: 1/λ under KL, β
// under χ². Steps of σ²/2 there are as long as the factor bears.
func (p FacesParams) width(k scones.Compatibility) float64 {
	lambda := k.Lambda
	if k.Beta > 0 {
		lambda = 1 / k.Beta
	}
	return math.Sqrt(lambda * float64(p.dim()) / 2)
}

// channels are those of a picture, and dim all its values.
func (p FacesParams) channels() int {
	if p.CelebA {
		return 3
	}
	return 1
}

func (p FacesParams) dim() int { return p.channels() * p.Side * p.Side }

// sampler anneals from that width to the last level, each level two thirds of the one before, the
// last ones those of the U-Net. Under the mixture it ends at σ = 0.129, below which that knows no
// more of a picture, and the denoising step takes the rest off.
func (f *facesPlan) sampler(k scones.Compatibility, field string) score.Langevin {
	first, last, steps := f.p.width(k), facesLast, 5
	if field == mixtureScore {
		last, steps = .129, 6
	}
	var rest []float64
	if field == networkScore {
		last, rest = f.levels[0], f.levels[1:]
	}
	first = max(first, last)
	levels := lab.Must(score.Geometric(first, last, 2+int(math.Ceil(math.Log(first/last)/math.Log(1.5)))))
	levels = append(levels, rest...)
	last = levels[len(levels)-1]
	return score.Langevin{Levels: levels, Steps: steps, Step: facesStep * math.Pow(last/facesLast, 2), Denoise: true}
}

// solve solves the discrete problem: potentials off its atoms, and its cost.
func (f *facesPlan) solve(ctx context.Context) (phi *scones.Discrete, psi scones.Potential, cost float64) {
	p, lambda, rng := f.p, f.Plan.Lambda, f.c.Rand("atoms")
	source := f.source[f.Plan.Super]
	if p.F == fdiv.KL {
		fitted := lab.Must(scones.Fit{Lambda: lambda, Mean: true, MaxAtoms: p.Atoms}.Run(ctx, rng, source.Mat(),
			f.target.Mat()))
		return fitted.FromPhi, fitted.Psi, fitted.Plan.Sharp()
	}
	from, to := lab.Must(source.Pick(rng, min(p.Atoms, source.Len()))),
		lab.Must(f.target.Pick(rng, min(p.Atoms, f.target.Len())))
	plan, phi, psi, err := scones.FitRegularised(ctx, scones.Compatibility{F: p.F, Lambda: lambda}, from.Mat(),
		to.Mat(), true)
	if err == nil && plan.Status != ot.Converged {
		err = fmt.Errorf("the plan of atoms is %v, of marginal error %g", plan.Status, plan.MarginalL1)
	}
	lab.Check(err)
	return phi, psi, plan.Sharp
}

// run takes potentials of atoms, with the scores that are known, and networks, if any.
func (f *facesPlan) run(ctx context.Context) {
	phi, psi, cost := f.solve(ctx)
	f.Plan.Cost = cost
	mean := phi.Barycentric(f.x)
	random := lab.Must(f.target.Pick(f.c.Rand("random"), min(f.x.RawMatrix().Rows, f.target.Len())))
	f.add(ctx, facesSource, f.x)
	f.add(ctx, facesProjection, mean)
	f.add(ctx, facesDraws, phi.DrawPoints(f.c.Rand("draws"), f.x))
	f.add(ctx, facesRandom, random.Mat())
	for _, s := range f.samplings() {
		c := scones.Coupling{Compatibility: s.k, Phi: phi, Psi: psi, Target: f.fields[s.field], Mean: true}
		f.sampled(ctx, s.name, c, f.sampler(s.k, s.field), mean)
	}
	switch n := f.p.Nets; {
	case n.Depth > 0:
		f.networks(ctx)
	case n.Score > 0:
		k := f.p.compatibility(f.Plan.Lambda)
		c := scones.Coupling{Compatibility: k, Phi: phi, Psi: psi, Target: f.fields[networkScore], Mean: true}
		mean := f.project(ctx, c)
		f.add(ctx, facesNetProjection, mean)
		f.sampled(ctx, facesNetwork, c, f.sampler(k, networkScore), mean)
	}
}

// project learns the barycentric projection of a plan of atoms by dense layers.
func (f *facesPlan) project(ctx context.Context, c scones.Coupling) *mat.Dense {
	n, d := f.p.Nets, f.p.dim()
	t := neural.Projection{
		Coupling: c,
		Steps:    n.Projection,
		Batch:    100,
		Schedule: train.Linear(n.Projection, 0),
		Path:     fmt.Sprintf("%s/projection-%s.ckpt", lab.Must(f.c.Scratch()), f.file("atoms")),
		Every:    every,
		Trace:    progress(f.c, n.Projection),
	}
	net := arch.BarycentricPixels(d, d, n.Width, n.Width)
	of := lab.Must(t.Run(ctx, f.c.Rand("projection"), f.dev, net, scones.Cloud(f.source[f.Plan.Super].Mat()),
		scones.Cloud(f.target.Mat())))
	return lab.Must(of.Apply(f.x))
}

// A sampling is what is sampled of a plan, and by which score.
type sampling struct {
	name, field string
	k           scones.Compatibility
}

// samplings are the plan itself under KL, by each score that is known; under χ² by the mixture's,
// if there is one, with the soft-plus of the paper, with one as sharp as λ, and with the one that
// its code ran.
func (f *facesPlan) samplings() (out []sampling) {
	k, mixture := f.p.compatibility(f.Plan.Lambda), f.fields[mixtureScore] != nil
	if f.p.F == fdiv.KL || !mixture {
		out = append(out, sampling{facesExact, exactScore, k})
	}
	if mixture {
		out = append(out, sampling{facesMixture, mixtureScore, k})
	}
	if f.p.F == fdiv.KL {
		return out
	}
	sharp, loose := out[0], out[0]
	sharp.name, sharp.k.Beta = facesSharp, 1/f.Plan.Lambda
	loose.name, loose.k.Beta = facesLoose, 1
	if sharp.k.Beta > facesBeta {
		out = append(out, sharp)
	}
	return append(out, loose)
}

// sampled adds chains from their start, which a killed run goes on with.
func (f *facesPlan) sampled(ctx context.Context, name string, c scones.Coupling, l score.Langevin, start *mat.Dense) {
	f.add(ctx, name, chains(ctx, f.c, f.file(name), c, f.x, 1, l, start, f.c.Rand("chains")))
}

// file names what this plan stores on the way.
func (f *facesPlan) file(name string) string {
	return fmt.Sprintf("%s-%g-%s", task(f.Plan.Super), f.Plan.Lambda,
		strings.NewReplacer("/", " over ", " ", "-").Replace(name))
}

// learner are critics and a projection of NCSNv2's architecture, as in the paper.
func (p FacesParams) learner(lambda float64) learner {
	n, k := p.Nets, p.compatibility(lambda)
	project := arch.BarycentricImages{Channels: p.channels(), Features: max(n.Features*3/8, 2)}.Net()
	return learner{
		dim: p.dim(),
		potentials: neural.Training{
			Ascent: scones.Ascent{
				Compatibility: scones.Compatibility{F: k.F, Lambda: k.Lambda},
				Mean:          true,
				Paired:        true,
				Steps:         n.Critic,
				Batch:         1000,
			},
			Hidden: slices.Repeat([]int{n.Width}, n.Depth), Rate: 1e-5, Unscaled: true,
		},
		beta: k.Beta,
		projection: neural.Projection{
			Steps:    n.Projection,
			Batch:    max(n.Batch/2, 1),
			Rate:     1e-6,
			Schedule: train.Linear(n.Projection, .1),
		},
		net: nn.Seq(&nn.Reshape{Shape: []int{p.channels(), p.Side, p.Side}}, project, nn.Flatten()),
	}
}

// networks is the paper's method, with the score network of all plans.
func (f *facesPlan) networks(ctx context.Context) {
	from, to := scones.Cloud(f.source[f.Plan.Super].Mat()), scones.Cloud(f.target.Mat())
	coupling, project := f.p.learner(f.Plan.Lambda).
		run(ctx, f.c, f.dev, f.file("networks"), f.c.Rand("networks"), from, to)
	mean := lab.Must(project.Apply(f.x))
	f.add(ctx, facesNetProjection, mean)
	coupling.Target = f.fields[networkScore]
	f.sampled(ctx, facesNetwork, coupling, f.p.networkSampler(coupling.Compatibility, f.levels), mean)
}

// networkSampler is the paper's, of the levels below the width of the factor.
func (p FacesParams) networkSampler(k scones.Compatibility, levels []float64) score.Langevin {
	first := p.width(k)
	l := score.Langevin{
		Levels:  slices.DeleteFunc(slices.Clone(levels), func(s float64) bool { return s > first && s > facesLast }),
		Steps:   5,
		Step:    1.5e-6,
		Denoise: true,
	}
	if k.F == fdiv.KL && k.Lambda < .01 {
		l.Steps, l.Step = 7, 1e-6
	}
	return l
}

// facesShown is how many pictures of a method are kept.
const facesShown = 10

// add judges a method and keeps its first pictures.
func (f *facesPlan) add(ctx context.Context, name string, y *mat.Dense) {
	n, d := y.Dims()
	y = clamped(y)
	v := f.judge.look(ctx, y, make([]int, n))
	own := share(neighbours(ctx, y, f.x).Index, func(i int, at int32) bool { return int(at) == i })
	m := FacesMethod{
		Name:    name,
		Frechet: v.frechet,
		KID:     v.kid.Value,
		Cost:    moved(y, f.x),
		Own:     own,
		Copies:  f.copies(nearest(ctx, y, f.target.Mat())),
	}
	f.Plan.Methods = append(f.Plan.Methods, m)
	lab.Check(kit.Write(f.c, facesFile(len(f.out.Plans), len(f.Plan.Methods)-1), y.Slice(0, min(facesShown, n), 0, d)))
}

// facesFile is the artifact of a method of a plan, by number.
func facesFile(plan, method int) string { return fmt.Sprintf("%d-%d.npy", plan, method) }

// facesView is the finished cells.
type facesView = lab.View[FacesParams, FacesOut]
