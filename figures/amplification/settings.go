package amplification

import (
	"fmt"
	"math"
	"slices"

	"coupling/dp"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"

	"gonum.org/v1/plot"
)

// A Mechanism on a Poisson sample.
type Mechanism struct {
	Kind  string  `json:"kind" enum:"gaussian,laplace,response" doc:"mechanism"`
	Scale float64 `json:"scale" min:">0" doc:"σ, λ or the probability of a true answer"`
	Rate  float64 `json:"rate" min:">0" max:"1" doc:"of Poisson sampling"`
}

// mechanism is the setting without the sample.
func (s Mechanism) mechanism() dp.Event {
	switch s.Kind {
	case "laplace":
		return dp.Laplace{Scale: s.Scale}
	case "response":
		return dp.RandomizedResponse{Truth: s.Scale}
	}
	return dp.Gaussian{NoiseMultiplier: s.Scale}
}

func (s Mechanism) event() dp.Event { return dp.Poisson{Rate: s.Rate, Event: s.mechanism()} }

// String is the title of a panel.
func (s Mechanism) String() string {
	return fmt.Sprintf("%s = %g, r = %g", map[string]string{"gaussian": "σ", "laplace": "λ", "response": "θ"}[s.Kind],
		s.Scale, s.Rate)
}

// name is the mechanism's.
func (s Mechanism) name() string {
	return map[string]string{"gaussian": "Gaussian", "laplace": "Laplace", "response": "randomised response"}[s.Kind]
}

// grid returns the settings row by row.
func grid(kind string, scales, rates []float64) []Mechanism {
	var out []Mechanism
	for _, x := range scales {
		for _, r := range rates {
			out = append(out, Mechanism{kind, x, r})
		}
	}
	return out
}

// seconds are CPU seconds of a figure; curves are as fine in the full preset as in the paper's.
func seconds(smoke, quick, full float64) map[lab.Preset]float64 {
	return kit.ByPreset(smoke, quick, full, full)
}

// space returns n points from a to b at equal distances.
func space(a, b float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = a + (b-a)*float64(i)/float64(n-1)
	}
	return x
}

// logSpace returns n points from a to b at equal ratios.
func logSpace(a, b float64, n int) []float64 {
	x := space(math.Log(a), math.Log(b), n)
	for i := range x {
		x[i] = math.Exp(x[i])
	}
	x[0], x[n-1] = a, b
	return x
}

// wholes are the whole numbers next to n points from a to b at equal ratios, each once.
func wholes(a, b float64, n int) []int {
	return slices.Compact(kit.Each(logSpace(a, b, n), func(v float64) int { return int(math.Round(v)) }))
}

// exps exponentiates.
func exps(logs []float64) []float64 { return kit.Each(logs, math.Exp) }

// The dash patterns of [style.Series] that tell kinds of bounds apart; colours tell group sizes.
const (
	full   = 0
	dashed = 1
	dotted = 2
)

// hues are the colours of [style.Series] for group sizes and other things in order; black is kept for the legend.
var hues = []int{0, 1, 4, 3, 5}

// curve is a line in the colour of one thing and the dashes of another.
func curve(colour, dashes int, x, y []float64) style.Line {
	return style.Line{X: x, Y: y, Series: dashes, Color: style.Series(hues[colour%len(hues)]).Color}
}

// key is a legend entry for a colour, dashKey one for a dash pattern.
func key(name string, colour int) plot.Plotter {
	return style.Line{Name: name, Color: style.Series(hues[colour%len(hues)]).Color, Solid: true}
}

func dashKey(name string, dashes int) plot.Plotter {
	return style.Line{Name: name, Series: dashes, Color: style.Black}
}

// groupKey are the entries of a legend for curves by group size and kind of bound.
func groupKey(groups []int, kinds ...plot.Plotter) []plot.Plotter {
	var out []plot.Plotter
	for i, k := range groups {
		out = append(out, key(fmt.Sprintf("K = %d", k), i))
	}
	return append(out, kinds...)
}

// sheet adds a plot of each part to panels in columns. The key stands in the first, labels at the outer edges alone.
func sheet[T any](panels style.Panels, parts [][]T, plot func(part []T) style.Plot, key ...plot.Plotter) style.Panels {
	for i, part := range parts {
		p := plot(part)
		if i == 0 {
			p.Items = append(p.Items, key...)
		}
		if i%panels.Columns > 0 && !panels.ShareY {
			p.Y.Label = ""
		}
		if i+panels.Columns < len(parts) && !panels.ShareX {
			p.X.Label = ""
		}
		panels.Items = append(panels.Items, p)
	}
	return panels
}

// pictured is a picture that is as wide as a page, or as a column where it has one panel.
func pictured(panels style.Panels, badge, caption string) []lab.Picture {
	if len(panels.Items) == 1 {
		return kit.Column(panels, badge, caption)
	}
	return kit.Wide(panels, badge, caption)
}

// exactly is the reason for a tolerance that rounding asks for.
const exactly = "both sides are certified to 1e-12 relative; a few roundings between them"
