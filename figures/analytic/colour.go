package analytic

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"

	"coupling/data"
	"coupling/data/sample"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"

	"github.com/lucasb-eyer/go-colorful"
	"gonum.org/v1/gonum/mat"
)

// Colour is colour transfer between two pictures by an entropic plan between their colours.
func Colour() lab.Study[ColourParams, ColourOut] {
	return lab.Study[ColourParams, ColourOut]{
		Name:  "analytic/colour",
		Title: "Colour transfer between photographs",
		Shows: "Photographs of ships and of frogs exchange their colours: one plan between samples of their pixels, " +
			"applied to every pixel by the softmin that extends its potentials. Large ε washes all colours into " +
			"one; small ε needs a solver that stands it.",
		Sizes: kit.Sizes("%v × %v photographs, %v colours each, 4 values of ε", kit.Per{2, 4, 4, 8},
			kit.Per{2, 3, 3, 5}, kit.Per{300, 600, 600, 3000}),
		Seconds:    kit.ByPreset(1., 3, 3, 60),
		Experiment: colourOf,
		Grid:       colourGrid,
		Draw:       drawColour,
		Claims:     claimColour,
	}
}

// ColourParams is one transfer at ε = Ratio times the mean cost.
type ColourParams struct {
	Across  int     `json:"across" min:"1" doc:"photographs beside each other, of 32 × 32 pixels"`
	Down    int     `json:"down" min:"1" doc:"photographs above each other"`
	Samples int     `json:"samples" min:"1" doc:"pixels drawn from each class"`
	Ratio   float64 `json:"ratio" min:">0" doc:"ε over the mean cost"`
}

// ColourOut describes a transfer. Artifacts, a pixel a row in sRGB: a.npy and b.npy, ships and
// frogs; ab.npy, the first in the colours of the second, and ba.npy.
type ColourOut struct {
	Eps        float64 `json:"eps"`
	ByPlan     float64 `json:"eps_by_plan"` // the same, by the plan's entries
	Status     string  `json:"status"`
	Iterations int     `json:"iterations"`
	// Before and After are exact W₂² in OKLab between fresh pixels: of the two pictures, and of a in b's colours and b;
	// Noise is between two draws of pixels of b, which is what a perfect transfer would leave.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Noise  float64 `json:"noise"`
	// MeanShift is the distance of the mean of the transferred sample from that of b's sample.
	MeanShift float64 `json:"mean_shift"`
	// Spread is the variance of the transferred sample over that of b's sample.
	Spread float64 `json:"spread"`
}

var colourOf = lab.Experiment[ColourParams, ColourOut]{
	Name: "analytic/colour", Version: 3,
	Run: func(ctx context.Context, c *lab.Cell, p ColourParams) (ColourOut, error) {
		photographs := lab.Must(data.CIFAR10(ctx, sample.From(data.Sample), data.Train))
		ships, frogs := p.mosaic(photographs, "ship", c.Rand("ships")), p.mosaic(photographs, "frog", c.Rand("frogs"))
		a, b := inOKLab(ships), inOKLab(frogs)
		x, y := drawn(c.Rand("sample a"), a, p.Samples), drawn(c.Rand("sample b"), b, p.Samples)
		prob := ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}
		out := ColourOut{Eps: p.Ratio * mat.Sum(ot.Cost(prob.Geometry)) / float64(p.Samples*p.Samples)}
		plan := lab.Must(ot.LBFGS{Eps: out.Eps, Tol: 1e-9}.Solve(ctx, prob))
		out.Status, out.Iterations = plan.Status.String(), plan.Iterations
		out.ByPlan = kit.Epsilon(plan.Matrix(), x, y)
		toB, toA := lab.Must(plan.At(a)), lab.Must(plan.AtTargets(b))
		ab, ba, moved := inSRGB(toB.Barycentric(y)), inSRGB(toA.Barycentric(x)), plan.Barycentric(y)
		out.MeanShift, out.Spread = meanDistance(moved, y), variance(moved)/variance(y)
		fresh := func(name string, of *mat.Dense) *mat.Dense { return drawn(c.Rand(name), of, p.Samples) }
		out.Before = distance(ctx, fresh("fresh a", a), fresh("fresh b", b))
		out.After = distance(ctx, fresh("fresh a", inOKLab(ab)), fresh("fresh b", b))
		out.Noise = distance(ctx, fresh("other b", b), fresh("fresh b", b))
		return out, errors.Join(kit.Write(c, "a.npy", ships), kit.Write(c, "b.npy", frogs),
			kit.Write(c, "ab.npy", ab), kit.Write(c, "ba.npy", ba))
	},
}

// mosaic is photographs of a class that are drawn at random, side by side: a pixel a row, in sRGB.
func (p ColourParams) mosaic(m *data.Images, class string, rng *rand.Rand) *mat.Dense {
	const side = 32
	var of []int
	for i, l := range m.Labels {
		if m.Classes[l] == class {
			of = append(of, i)
		}
	}
	rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	out, width := mat.NewDense(p.Across*p.Down*side*side, 3, nil), p.Across*side
	for i := range out.RawMatrix().Rows {
		x, y := i%width, i/width
		photograph, at := m.Row(of[(y/side*p.Across+x/side)%len(of)]), y%side*side+x%side
		out.SetRow(i, []float64{float64(photograph[at]), float64(photograph[side*side+at]),
			float64(photograph[2*side*side+at])})
	}
	return out
}

// drawn are n rows with replacement.
func drawn(rng *rand.Rand, from *mat.Dense, n int) *mat.Dense {
	out := mat.NewDense(n, 3, nil)
	for i := range n {
		out.SetRow(i, from.RawRowView(rng.IntN(from.RawMatrix().Rows)))
	}
	return out
}

// inOKLab turns sRGB into Ottosson's OKLab (2020), in which distances are about those that the eye sees: lightness,
// green–red, blue–yellow.
func inOKLab(m *mat.Dense) *mat.Dense {
	return eachColour(m,
		func(c []float64) (l, a, b float64) { return colorful.Color{R: c[0], G: c[1], B: c[2]}.OkLab() })
}

// inSRGB is the inverse, clipped to what a screen can show.
func inSRGB(m *mat.Dense) *mat.Dense {
	return eachColour(m, func(c []float64) (r, g, b float64) {
		shown := colorful.OkLab(c[0], c[1], c[2]).Clamped()
		return shown.R, shown.G, shown.B
	})
}

// eachColour changes every row.
func eachColour(m *mat.Dense, change func(c []float64) (x, y, z float64)) *mat.Dense {
	out := mat.DenseCopyOf(m)
	for i := range out.RawMatrix().Rows {
		x, y, z := change(m.RawRowView(i))
		out.SetRow(i, []float64{x, y, z})
	}
	return out
}

// meanDistance is the distance between the means of rows.
func meanDistance(x, y *mat.Dense) float64 {
	total := 0.0
	nx, d := x.Dims()
	ny, _ := y.Dims()
	for k := range d {
		v := mat.Sum(x.ColView(k))/float64(nx) - mat.Sum(y.ColView(k))/float64(ny)
		total += v * v
	}
	return math.Sqrt(total)
}

func colourGrid(set lab.Setting) []ColourParams {
	p := set.Preset
	base := ColourParams{Across: lab.Pick(p, 2, 4, 4, 8), Down: lab.Pick(p, 2, 3, 3, 5),
		Samples: lab.Pick(p, 300, 600, 600, 3000)}
	return lab.Grid(base, lab.Vary(func(p *ColourParams, r float64) { p.Ratio = r }, 0.3, 0.1, 0.03, 0.003))
}

// sameColours is the null of pictures that keep their colours.
var sameColours = kit.Null("pictures that keep their colours", colourOf,
	func(_ ColourParams, v *ColourOut) { v.After, v.MeanShift = v.Before, math.Sqrt(v.Before) })

// bluntColours is the null of plans at twice the ε.
var bluntColours = kit.Null("twice the ε", colourOf, func(_ ColourParams, v *ColourOut) { v.ByPlan *= 2 })

// widerColours is the null of colours that spread beyond the target's, the more the larger ε.
var widerColours = kit.Null("colours that spread with ε", colourOf,
	func(p ColourParams, v *ColourOut) { v.Spread = 1 + p.Ratio })

func drawColour(v lab.View[ColourParams, ColourOut]) (lab.Exhibit, error) {
	cells := v.Cells
	p := cells[0].Params
	grid := style.ImageGrid{
		C:         3,
		H:         32 * p.Down,
		W:         32 * p.Across,
		Columns:   len(cells) + 1,
		Gap:       p.Across / 2,
		ColLabels: []string{"photographs"},
	}
	for row, names := range [][2]string{{"a.npy", "ab.npy"}, {"b.npy", "ba.npy"}} {
		first := kit.Matrix(cells[0].Open, names[0])
		grid.Images = append(grid.Images, planes(first))
		for _, c := range cells {
			m := kit.Matrix(c.Open, names[1])
			grid.Images = append(grid.Images, planes(m))
			if row == 0 {
				grid.ColLabels = append(grid.ColLabels, fmt.Sprintf("ε = %g", c.Params.Ratio))
			}
		}
	}
	sizes := v.Badge(fmt.Sprintf("%d colours each", p.Samples))
	return lab.Exhibit{
		Pictures: []lab.Picture{
			kit.Picture("pictures", grid, sizes, fmt.Sprintf(
				"Photographs of CIFAR-10 (left) in the colours of the other class, over ε in units of the mean "+
					"cost. One plan between %d pixels of each serves both ways and all %d pixels.",
				p.Samples, p.Across*p.Down*32*32)),
			kit.Picture("colours", colourClouds(cells[len(cells)-1]), sizes, fmt.Sprintf(
				"Pixels of the photographs in OKLab, in their own colours, and of the ships after transfer at ε = "+
					"%g of the mean cost.",
				cells[len(cells)-1].Params.Ratio)),
		},
		Tables: []lab.Table{colourTable(cells)},
		Notes: []string{"Costs are squared distances in OKLab. Distances in the table are between pixels drawn " +
			"afresh, so that the map is tested on pixels that the plan has not seen."},
	}, nil
}

// planes turns a pixel a row into three planes.
func planes(m *mat.Dense) []float32 {
	n, _ := m.Dims()
	out := make([]float32, 3*n)
	for i := range n {
		for k, v := range m.RawRowView(i) {
			out[k*n+i] = float32(v)
		}
	}
	return out
}

// colourClouds draws pixels of both pictures, and of the first after transfer, by lightness and hue.
func colourClouds(c colourCell) style.Panels {
	panels := style.Panels{Letters: true, ShareX: true, ShareY: true}
	for _, f := range [][2]string{{"a.npy", "ships"}, {"ab.npy", "ships, transferred"}, {"b.npy", "frogs"}} {
		m := kit.Matrix(c.Open, f[0])
		p := style.Plot{
			Title:  f[1],
			Aspect: 0.9,
			X:      style.Axis{Label: "blue – yellow, \\i{b}", Min: -0.2, Max: 0.2},
			Y:      style.Axis{Label: "lightness, \\i{L}", Min: 0, Max: 1},
		}
		colours := inOKLab(m)
		n, _ := m.Dims()
		const shown = 700
		for i := 0; i < n; i += max(1, n/shown) {
			px, at := m.RawRowView(i), colours.RawRowView(i)
			p.Items = append(p.Items, style.Points{
				X: at[2:], Y: at[:1], Radius: 1.6, Series: 0,
				Color: color.NRGBA{
					R: byte(255*px[0] + 0.5),
					G: byte(255*px[1] + 0.5),
					B: byte(255*px[2] + 0.5),
					A: 255,
				},
			})
		}
		panels.Items = append(panels.Items, p)
	}
	return panels
}

func colourTable(cells []colourCell) lab.Table {
	return kit.Table("distances",
		"Exact squared Wasserstein distance in OKLab between fresh pixels: of the two classes, after transfer, and "+
			"between two draws from the target; variance over the target's.",
		"ε / mean cost | before | after | two draws | variance | iterations | status",
		kit.Each(cells, func(c colourCell) []string {
			v := c.Value
			return kit.Row("%v | %.5f | %.5f | %.5f | %.3f | %v | %s", c.Params.Ratio, v.Before, v.After, v.Noise,
				v.Spread, v.Iterations, v.Status)
		})...)
}

func claimColour(v lab.View[ColourParams, ColourOut]) ([]lab.Claim, error) {
	cells := v.Cells
	shift, narrower, spread := math.Inf(-1), math.Inf(1), math.Inf(-1)
	for i, c := range cells {
		shift, spread = max(shift, c.Value.MeanShift), max(spread, c.Value.Spread)
		if i > 0 {
			narrower = min(narrower, c.Value.Spread-cells[i-1].Value.Spread)
		}
	}
	last := cells[len(cells)-1].Value
	return []lab.Claim{
		kit.AtMost("mean of the transferred colours, largest distance from the target's",
			"Tᵀ1 = b: the barycentric projection keeps the mean", shift, 1e-8,
			"a marginal error of 1e-9 times colours of size 1, and rounding", sameColours),
		kit.AtMostWithin("variance of the transferred colours over the target's, the largest",
			"averages are narrower: Jensen", spread, 1, 1e-8, "a law", widerColours),
		kit.AtLeast("least growth of that variance as ε falls", "rows of the plan get narrower",
			narrower, 0, "the values are far apart", widerColours),
		kit.AtMost("distance to the target's colours after transfer over before, smallest ε",
			"transport reaches its target", last.After/last.Before, 0.2,
			"a fifth; two draws of the target differ by the last column but one of the table, which is less",
			sameColours),
		kit.EpsilonAsked(kit.Each(cells, func(c colourCell) float64 { return c.Value.ByPlan / c.Value.Eps }),
			bluntColours),
	}, nil
}

// colourCell is a finished cell.
type colourCell = lab.Result[ColourParams, ColourOut]
