package amplification

import (
	"context"
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// SamplingParams asks for ε over epochs of DP-SGD whose batches are drawn in one way.
type SamplingParams struct {
	Batches string  `json:"batches" enum:"none,without replacement,poisson,allocation" doc:"how a batch is drawn"`
	Noise   float64 `json:"noise" min:">0" doc:"σ, in units of the norm that gradients are clipped to"`
	Steps   int     `json:"steps" min:"2" doc:"steps of an epoch"`
	Batch   int     `json:"batch" min:"1" doc:"records of a batch of fixed size"`
	Delta   float64 `json:"delta" min:">0" max:"<1" doc:"δ"`
	Epochs  []int   `json:"epochs" min:"1" doc:"numbers of epochs"`
}

// SamplingOut holds bounds of ε at each number of epochs.
type SamplingOut struct {
	Upper []float64 `json:"upper"`
	Lower []float64 `json:"lower"`
}

// event is the training of so many epochs. Each record is expected in one batch of an epoch.
func (p SamplingParams) event(epochs int) dp.Event {
	step := dp.Gaussian{NoiseMultiplier: p.Noise}
	switch p.Batches {
	case "none":
		return dp.Repeat{Times: epochs, Event: step}
	case "without replacement":
		return dp.FixedSGD(p.Noise, p.Batch, p.Batch*p.Steps, epochs*p.Steps)
	case "poisson":
		return dp.SGD(p.Noise, 1/float64(p.Steps), epochs*p.Steps)
	}
	return dp.Repeat{Times: epochs, Event: dp.Allocation{Steps: p.Steps, Selected: 1, Event: step}}
}

var samplingOf = lab.Experiment[SamplingParams, SamplingOut]{
	Name: "amplification/sampling", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p SamplingParams) (out SamplingOut, err error) {
		for i, epochs := range p.Epochs {
			g := lab.Must(dp.EpsilonBy(ctx, dp.Best{Width: 1e-3}, p.event(epochs), dp.Relation{}, p.Delta))
			out.Upper, out.Lower = append(out.Upper, g.Epsilon), append(out.Lower, g.Lower)
			c.Progress(i+1, len(p.Epochs))
		}
		return out, nil
	},
}

// ways are the ways to draw batches, with their names in the legend.
var ways = []struct{ batches, name string }{
	{"none", "shuffled, or all of the data: no amplification"},
	{"without replacement", "without replacement (upper bound)"},
	{"poisson", "Poisson"},
	{"allocation", "random allocation"},
}

// Sampling is ε by the way in which batches are drawn.
func Sampling() lab.Study[SamplingParams, SamplingOut] {
	var epochs kit.Per
	for i, p := range lab.Presets {
		epochs[i] = len(samplingGrid(lab.Setting{Preset: p})[0].Epochs)
	}
	return lab.Study[SamplingParams, SamplingOut]{
		Name:  "amplification/sampling",
		Title: "How a training draws its batches",
		Shows: "ε of DP-SGD over epochs at the same noise and the same expected batch. Batches by random " +
			"allocation, in which each record has one step of the epoch by itself, amplify as Poisson batches do. " +
			"Batches of a fixed size need twice the noise, and batches cut from a shuffled data set have no useful " +
			"bound but that of no amplification.",
		Sizes:      kit.Sizes("%v numbers of epochs", epochs),
		Seconds:    seconds(3, 4, 6),
		Experiment: samplingOf,
		Grid:       samplingGrid,
		Draw:       drawSampling,
		Claims:     claimSampling,
	}
}

func samplingGrid(set lab.Setting) []SamplingParams {
	epochs := append(wholes(1, 100, lab.Pick(set.Preset, 3, 7, 13, 13)), 1, 10, 100)
	slices.Sort(epochs)
	base := SamplingParams{Steps: 100, Batch: 100, Delta: 1e-5, Epochs: slices.Compact(epochs)}
	var names []string
	for _, w := range ways {
		names = append(names, w.batches)
	}
	return lab.Grid(base, lab.Vary(func(p *SamplingParams, v float64) { p.Noise = v }, 1, 2),
		lab.Vary(func(p *SamplingParams, v string) { p.Batches = v }, names...))
}

func drawSampling(v lab.View[SamplingParams, SamplingOut]) (lab.Exhibit, error) {
	line := func(way int, x, y []float64) style.Line {
		return curve(way, [...]int{dotted, dashed, full, full}[way], x, y)
	}
	var legend []plot.Plotter
	for i, w := range ways {
		entry := line(i, nil, nil)
		entry.Name = w.name
		legend = append(legend, entry)
	}
	panels := kit.Runs(v.Cells, func(c lab.Result[SamplingParams, SamplingOut]) float64 { return c.Params.Noise })
	body := sheet(style.Panels{Columns: len(panels), Letters: true, ShareX: true}, panels,
		func(cells []lab.Result[SamplingParams, SamplingOut]) style.Plot {
			p := kit.LogLog(fmt.Sprintf("σ = %g", cells[0].Params.Noise), "epochs", "ε", .8)
			for _, c := range cells {
				p.Items = append(p.Items, line(wayOf(c.Params), floats(c.Params.Epochs), c.Value.Upper))
			}
			return p
		}, legend...)
	p := v.Cells[0].Params
	return lab.Exhibit{
		Pictures: pictured(body, kit.Badge(v.Source, "%d numbers of epochs", len(p.Epochs)),
			fmt.Sprintf("ε at δ = %g over epochs of %d steps, one record added or removed.", p.Delta, p.Steps)),
		Notes: []string{"Noise is in units of the norm that gradients are clipped to. In a batch of fixed size a " +
			"record comes in another's place, so that the sum moves by twice that norm. Random allocation: the pair " +
			"of the mean of t likelihood ratios (Feldman, Shenfeld 2025; Chua et al. 2024), enclosed to a " +
			"thousandth. It is below Poisson's here; no theorem says so, and for Laplace noise it is not. Shuffled " +
			"batches: only lower bounds are known beside no amplification (Chua et al. 2024)."},
	}, nil
}

// wayOf is the index of the cell's way.
func wayOf(p SamplingParams) int {
	return slices.IndexFunc(ways, func(w struct{ batches, name string }) bool { return w.batches == p.Batches })
}

// samplingNull is the null in which what is said of allocations and of fixed batches is exchanged
// with its size: the first ten times too large, the second ten times too small.
var samplingNull = kit.Null("ε of allocation ten times too large, of fixed batches ten times too small", samplingOf,
	func(p SamplingParams, v *SamplingOut) {
		switch p.Batches {
		case "allocation":
			v.Upper, v.Lower = scale(v.Upper, 10), scale(v.Lower, 10)
		case "without replacement":
			v.Upper, v.Lower = scale(v.Upper, .1), scale(v.Lower, .1)
		}
	})

func claimSampling(v lab.View[SamplingParams, SamplingOut]) ([]lab.Claim, error) {
	over := func(a, b string) float64 { // the largest ratio of the upper ends of a to the lower ends of b
		most := math.Inf(-1)
		for _, x := range v.Cells {
			for _, y := range v.Cells {
				if q := x.Params; x.Params.Batches != a || y.Params.Batches != b || q.Noise != y.Params.Noise ||
					q.Steps != y.Params.Steps {
					continue
				}
				for i, eps := range x.Value.Upper {
					most = max(most, eps/y.Value.Lower[i])
				}
			}
		}
		return most
	}
	claims := []lab.Claim{
		kit.Law(kit.AtMostWithin("ε of allocation over that without amplification, the largest",
			"convexity: a mean of ratios is at most one of them in convex order", over("allocation", "none"), 1, 1e-3,
			"the width of the enclosure", samplingNull)),
		kit.AtMostWithin("ε of allocation over that of Poisson batches, the largest",
			"Feldman, Shenfeld 2025; so it is in all Gaussian cases of another program's brackets",
			over("allocation", "poisson"), 1, 1e-3, "the width of the enclosure", samplingNull),
		kit.AtMost("ε of allocation over that of fixed batches, the largest",
			"FixedSGD: an exchange moves a sum by twice the norm",
			over("allocation", "without replacement"), .6, "half the noise costs about twice the ε",
			samplingNull),
	}
	for _, c := range v.Cells {
		for _, want := range allocated {
			i := slices.Index(c.Params.Epochs, want.epochs)
			if c.Params.Batches != "allocation" || c.Params.Noise != want.noise || c.Params.Steps != 100 ||
				c.Params.Delta != 1e-5 || i < 0 {
				continue
			}
			claims = append(claims, kit.Near(fmt.Sprintf("ε of allocation, σ = %g, %d epochs", want.noise, want.epochs),
				"another program's bracket", c.Value.Upper[i], want.eps,
				1e-3*want.eps, "the width of the enclosure; the bracket's is 1e-4", samplingNull))
		}
	}
	return claims, nil
}

// allocated are upper ends of another program's brackets, for 100 steps and δ = 1e-5.
var allocated = []struct {
	noise  float64
	epochs int
	eps    float64
}{{1, 1, .620950}, {1, 10, 1.701546}, {1, 100, 6.04377}}
