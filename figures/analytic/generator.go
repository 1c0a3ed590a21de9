package analytic

import (
	"context"
	"fmt"
	"math/rand/v2"

	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
	"coupling/ot"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/mat"
)

// Generator is networks trained by the sharp and by the regularised loss.
func Generator() lab.Study[GeneratorParams, GeneratorOut] {
	return lab.Study[GeneratorParams, GeneratorOut]{
		Name:  "analytic/generator",
		Title: "A generator trained by the sharp loss",
		Shows: "The use of the loss that the paper begins with: a small network learns two half-moons from batches, by the analytic gradient of the sharp loss and by that of the " +
			"regularised one. At large ε the regularised loss draws its samples together and the sharp one does not; at small ε both learn.",
		Sizes:      kit.Sizes("batches of %v, %v steps, 2 values of ε%v", kit.Per{40, 128, 200, 500}, kit.Per{10, 500, 2000, 5000}, kit.Per{"", ", 2 seeds", ", 3 seeds", ", 5 seeds"}),
		Seconds:    map[lab.Preset]float64{lab.Smoke: .5, lab.Quick: 14, lab.Full: 300, lab.Paper: 10_000},
		Experiment: generatorOf,
		Grid:       generatorGrid,
		Draw:       drawGenerator,
		Claims:     claimGenerator,
	}
}

// GeneratorParams is one training.
type GeneratorParams struct {
	Batch  int     `json:"batch" min:"1" doc:"generated points, and data, of a step"`
	Hidden int     `json:"hidden" min:"1" doc:"units of each of the two hidden layers"`
	Steps  int     `json:"steps" min:"1" doc:"of Adam"`
	Rate   float64 `json:"rate" min:">0" doc:"of Adam"`
	Draw   int     `json:"draw" min:"0" doc:"number of the draw of weights and batches"`
	Ratio  float64 `json:"ratio" min:">0" doc:"ε over the mean cost between the data and themselves"`
	Loss   string  `json:"loss" oneof:"regularised,sharp,divergence" doc:"loss that the network descends"`
	Device string  `json:"device" doc:"where the network runs: cpu, cuda:0 or cuda:0,tf32"`
}

// GeneratorOut describes a training. Artifacts: data.npy and end.npy, fresh points of the data and of the network.
type GeneratorOut struct {
	Looks  []float64 `json:"looks"`  // steps after which W was measured, from 0
	W      []float64 `json:"w"`      // exact W₂² between fresh points of the network and of the data
	Noise  float64   `json:"noise"`  // the same between two draws of the data
	Spread float64   `json:"spread"` // variance of the network's points at the end over that of the data
}

var generatorOf = lab.Experiment[GeneratorParams, GeneratorOut]{
	Name: "analytic/generator", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p GeneratorParams) (out GeneratorOut, err error) {
		dev := lab.Must(c.Device(p.Device))
		rng := func(what string) *rand.Rand { return c.Rand(fmt.Sprintf("%s/%d", what, p.Draw)) }
		net := nn.Seq(&nn.Dense{In: 2, Out: p.Hidden}, nn.ReLU(), &nn.Dense{In: p.Hidden, Out: p.Hidden}, nn.ReLU(), &nn.Dense{In: p.Hidden, Out: 2})
		net.Init(dev, device.Float32, rng("weights"))
		opt, batches := train.Adam{Rate: p.Rate}.For(net.Params()), rng("batches")
		const looked, fresh = 20, 500
		data, codes := halfMoons(rng("data"), fresh), normal(rng("codes"), fresh, 1)
		eps := p.Ratio * mat.Sum(ot.Cost(ot.Points(data, data, ot.SqEuclidean))) / (fresh * fresh)
		out.Noise = distance(ctx, halfMoons(rng("other data"), fresh), data)
		for step := 0; ; step++ {
			if step*looked%p.Steps < looked {
				x := lab.Must(net.Forward(&nn.Pass{ForwardOnly: true}, dev.FromDense(device.Float32, codes)).Mat())
				out.Looks, out.W = append(out.Looks, float64(step)), append(out.W, distance(ctx, x, data))
				if step == p.Steps {
					out.Spread = variance(x) / variance(data)
					return out, writeFlow(c, data, x)
				}
			}
			p.step(ctx, dev, net, batches, eps)
			opt.Step()
			c.Progress(step+1, p.Steps)
		}
	},
}

// step leaves the gradient of the loss of one batch in the network.
func (p GeneratorParams) step(ctx context.Context, dev *device.Device, net nn.Layer, rng *rand.Rand, eps float64) {
	defer dev.Scope().Close()
	pass := &nn.Pass{Training: true, ParamsOnly: true}
	x := lab.Must(net.Forward(pass, dev.FromDense(device.Float32, normal(rng, p.Batch, 1))).Mat())
	grad, _ := lossGradient(ctx, p.Loss, x, halfMoons(rng, p.Batch), eps)
	nn.ZeroGrads(net.Params())
	net.VJP(pass, dev.FromDense(device.Float32, grad))
	lab.Check(dev.Err())
}

// distance is the exact W₂² between as many points.
func distance(ctx context.Context, x, y *mat.Dense) float64 {
	w := lab.Must(exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Points(x, y, ot.SqEuclidean)}))
	return w.Value / w.Certificate.Mass
}

func generatorGrid(set lab.Setting) []GeneratorParams {
	p := set.Preset
	base := GeneratorParams{Batch: lab.Pick(p, 40, 128, 200, 500), Hidden: 64, Steps: lab.Pick(p, 10, 500, 2000, 5000), Rate: 3e-3, Device: set.Device}
	return lab.Grid(base,
		lab.Vary(func(p *GeneratorParams, r float64) { p.Ratio = r }, 0.2, 0.01),
		lab.Vary(func(p *GeneratorParams, l string) { p.Loss = l }, flowReg, flowSharp),
		lab.Vary(func(p *GeneratorParams, d int) { p.Draw = d }, kit.Count(lab.Pick(p, 1, 2, 3, 5))...))
}

// untrainedGenerator is the null of networks as they were drawn.
var untrainedGenerator = kit.Null("untrained networks", generatorOf, func(_ GeneratorParams, v *GeneratorOut) { v.W, v.Spread = v.W[:1], 0 })

// last is the distance at the end of training.
func (o GeneratorOut) last() float64 { return o.W[len(o.W)-1] }

func drawGenerator(v lab.View[GeneratorParams, GeneratorOut]) (lab.Exhibit, error) {
	first := v.Cells[0]
	ends, distances := style.Panels{Columns: 4}, style.Plot{X: style.Axis{Label: "step"}, Y: style.Axis{Label: "\\i{W}_{2}^{2} to the data", Log: true}, Aspect: .4}
	table := lab.Table{Name: "generators", Caption: "Exact squared Wasserstein distance between 500 fresh points of the network and of the data, and the variance over that of the data, means over the seeds.",
		Header: []string{"loss", "ε / mean cost", "W₂² untrained", "trained", "two draws of the data", "variance"}}
	for k, same := range kit.Runs(v.Cells, func(c lab.Result[GeneratorParams, GeneratorOut]) [2]any { return [2]any{c.Params.Loss, c.Params.Ratio} }) {
		p := same[0].Params
		points := flowPoints(same[0].Open)
		name := fmt.Sprintf("%s, ε = %g × mean cost", p.Loss, p.Ratio)
		points.Title = fmt.Sprintf("%s, ε = %g", p.Loss, p.Ratio)
		ends.Items = append(ends.Items, points)
		distances.Items = append(distances.Items, style.Line{Name: name, Series: k, X: same[0].Value.Looks, Y: same[0].Value.W})
		mean := func(of func(GeneratorOut) float64) float64 { return generatorMean(same, of) }
		table.Rows = append(table.Rows, []string{p.Loss, fmt.Sprint(p.Ratio), fmt.Sprintf("%.4f", mean(func(o GeneratorOut) float64 { return o.W[0] })), fmt.Sprintf("%.4f", mean(GeneratorOut.last)),
			fmt.Sprintf("%.4f", mean(func(o GeneratorOut) float64 { return o.Noise })), fmt.Sprintf("%.3f", mean(func(o GeneratorOut) float64 { return o.Spread }))})
	}
	distances.Items = append(distances.Items, style.Rule{At: first.Value.Noise, Label: "two draws of the data"})
	badge := v.Badge(fmt.Sprintf("batches of %d, %d steps", first.Params.Batch, first.Params.Steps))
	return lab.Exhibit{
		Pictures: []lab.Picture{
			{Name: "points", Caption: fmt.Sprintf("Fresh points of networks of two hidden layers of %d units after %d steps of Adam on batches of %d, ε in units of the mean cost; grey: the data.", first.Params.Hidden, first.Params.Steps, first.Params.Batch),
				Drawing: style.Figure{Body: ends, Width: style.TwoColumns, Badge: badge}},
			{Name: "distance", Caption: "Exact squared Wasserstein distance between 500 fresh points of the network and of the data over the steps, by the network simplex.",
				Drawing: style.Figure{Body: distances, Width: style.TwoColumns, Badge: badge}},
		},
		Tables: []lab.Table{table},
	}, nil
}

func generatorMean(cells []lab.Result[GeneratorParams, GeneratorOut], of func(GeneratorOut) float64) float64 {
	sum := 0.0
	for _, c := range cells {
		sum += of(c.Value) / float64(len(cells))
	}
	return sum
}

func claimGenerator(v lab.View[GeneratorParams, GeneratorOut]) ([]lab.Claim, error) {
	mean := func(ratio float64, loss string, of func(GeneratorOut) float64) float64 {
		return generatorMean(v.Where(func(p GeneratorParams) bool { return p.Ratio == ratio && p.Loss == loss }), of)
	}
	short := lab.Pick(v.Preset, "10 steps", "", "", "")
	null := untrainedGenerator
	return []lab.Claim{
		{What: "distance left by the sharp loss over the untrained network's, small ε", Source: "abstract: generative models", Got: mean(.01, flowSharp, GeneratorOut.last) / mean(.01, flowSharp, func(o GeneratorOut) float64 { return o.W[0] }),
			Relation: lab.AtMost, Want: .1, Why: "a tenth; what is left is noise of steps and batches, of the size by which draws of the data differ", SkipReason: short, Null: null},
		{What: "distance left by the sharp loss over that left by the regularised one, large ε", Source: "Proposition 1: the bias of the sharp loss falls exponentially in 1/ε", Got: mean(.2, flowSharp, GeneratorOut.last) / mean(.2, flowReg, GeneratorOut.last),
			Relation: lab.AtMost, Want: .5, Why: "half; the regularised loss takes ε/2 a coordinate from the variance of the data", SkipReason: short, Null: null},
	}, nil
}
