package amplification

import (
	"context"
	"fmt"
	"math"

	"coupling/dp/bounds"
	"coupling/dp/pair"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/ot"
	"coupling/ot/exact"

	"gonum.org/v1/gonum/mat"
)

// TransportParams asks for ρ(α) of the Gaussian mechanism without replacement, Group records substituted, without
// conditioning (SSKG, Theorem 3.3) and post-hoc.
type TransportParams struct {
	Noise float64 `json:"noise" min:">0" doc:"σ"`
	Batch int     `json:"batch" min:"1" doc:"records drawn without replacement"`
	Size  int     `json:"size" min:"1" doc:"records of the data set"`
	Group int     `json:"group" min:"1" doc:"records that are substituted"`
	Order []int   `json:"order" min:"2" doc:"orders α"`
}

// TransportOut holds ρ at each order.
type TransportOut struct {
	Transport []float64 `json:"transport"`
	PostHoc   []float64 `json:"post_hoc"`
	// Gap is the largest certificate of optimality of the couplings, relative to their cost.
	Gap float64 `json:"gap"`
	// OffDiagonal is the largest mass that a coupling moves between batches with different numbers of group records.
	OffDiagonal float64 `json:"off_diagonal"`
}

var transportOf = lab.Experiment[TransportParams, TransportOut]{
	Name: "amplification/transport", Version: 1,
	Run: func(ctx context.Context, c *lab.Cell, p TransportParams) (out TransportOut, err error) {
		base := lab.Must(pair.Poisson(pair.Gaussian, p.Noise, 1, 0, 1))
		for i, a := range p.Order {
			out.transport(ctx, p, float64(a))
			one := func(order float64) float64 {
				return lab.Must(bounds.WangRDP(base, p.Batch, p.Size, int(order), bounds.Published))
			}
			out.PostHoc = append(out.PostHoc, lab.Must(bounds.PostHocRenyi(one, p.Group, float64(a))))
			c.Progress(i+1, len(p.Order))
		}
		for i := len(out.PostHoc) - 2; i >= 0; i-- { // ρ rises with the order
			out.PostHoc[i] = min(out.PostHoc[i], out.PostHoc[i+1])
		}
		return out, nil
	},
}

// transport adds the bound at one order. Batches fall into classes by how many of the group's
// records they hold; a batch with i of the old ones and one with j of the new ones are max(i, j)
// substitutions apart, at a moment of exp(α(α−1) max(i, j)²/2σ²). Costs are divided by the largest
// term of the sum, which may not fit a float64.
func (o *TransportOut) transport(ctx context.Context, p TransportParams, alpha float64) {
	logW := pair.Hypergeometric(p.Size, p.Group, p.Batch)
	w := exps(logW)
	logCost := func(i, j int) float64 {
		d := float64(max(i, j)) / p.Noise
		return alpha * (alpha - 1) * d * d / 2
	}
	scale := 0.0
	for k := range w {
		scale = max(scale, logW[k]+logCost(k, k))
	}
	cost := func(i, j int) float64 { return math.Exp(logCost(i, j) - scale) }
	costs := mat.NewDense(len(w), len(w), nil)
	costs.Apply(func(i, j int, _ float64) float64 { return cost(i, j) }, costs)
	best := lab.Must(exact.Simplex{}.Solve(ctx, ot.Problem{Geometry: ot.Dense(costs), A: w, B: w}))
	plan := best.Matrix()
	bound := lab.Must(bounds.CouplingBound(plan, w, w, cost))
	o.Transport = append(o.Transport, (scale+math.Log(bound))/(alpha-1))
	o.Gap = max(o.Gap, best.Certificate.Bound()/best.Value)
	o.OffDiagonal = max(o.OffDiagonal, mat.Sum(plan)-mat.Trace(plan))
}

var transportGroups = []int{1, 2, 4}

const transportSmoke, transportQuick, transportPaper = 13, 61, 121

// Fig12 is what conditioning is worth.
func Fig12() lab.Study[TransportParams, TransportOut] {
	return lab.Study[TransportParams, TransportOut]{
		Name:  "amplification/fig12",
		Title: "The benefit of conditioning: transport without it",
		Shows: "Gaussian mechanism without replacement. Theorem 3.3 with an optimal coupling and no conditioning " +
			"(full lines) is far above group privacy applied to the older bound for one substitution (dashed) where " +
			"the order is small: joint convexity down to single batches loses the amplification of ε.",
		Sizes: kit.Sizes("some %v orders up to 10,000, N = 1e3, 1e4, 1e5",
			kit.Per{transportSmoke, transportQuick, transportPaper, transportPaper}),
		Seconds:    seconds(1, 5, 10),
		Experiment: transportOf,
		Grid:       transportGrid,
		Draw:       drawTransport,
		Claims:     claimTransport,
	}
}

// transportGrid varies the number of records, the noise, the batch and, fastest, the group.
func transportGrid(set lab.Setting) (out []TransportParams) {
	orders := wholes(2, 1e4, lab.Pick(set.Preset, transportSmoke, transportQuick, transportPaper, transportPaper))
	return lab.Grid(TransportParams{Order: orders},
		lab.Vary(func(p *TransportParams, n int) { p.Size = n }, 1e3, 1e4, 1e5),
		lab.Vary(func(p *TransportParams, s float64) { p.Noise = s }, .5, 5),
		lab.Vary(func(p *TransportParams, f float64) { p.Batch = int(math.Round(f * float64(p.Size))) }, .1, .01, .001),
		lab.Vary(func(p *TransportParams, k int) { p.Group = k }, transportGroups...))
}

// looseCoupling is the null of a coupling that is not optimal, of one bound for every group, drawn against itself.
var looseCoupling = kit.Null("a coupling that is not optimal, one bound for every group, against itself", transportOf,
	func(_ TransportParams, v *TransportOut) {
		v.Gap, v.OffDiagonal, v.Transport[0], v.PostHoc = .1, 1e-6, 1, v.Transport
	})

func drawTransport(v lab.View[TransportParams, TransportOut]) (ex lab.Exhibit, err error) {
	for _, all := range kit.Runs(v.Cells,
		func(c transportCell) int { return c.Params.Size }) {
		size := all[0].Params.Size
		parts := kit.Runs(all, func(c transportCell) [2]float64 {
			return [2]float64{c.Params.Noise, float64(c.Params.Batch)}
		})
		groups := kit.Each(parts[0], func(c transportCell) int { return c.Params.Group })
		panels := sheet(style.Panels{Columns: 3, Letters: true, ShareX: true}, parts,
			func(got []transportCell) style.Plot {
				at := got[0].Params
				title := fmt.Sprintf("σ = %g, n / N = %g", at.Noise, float64(at.Batch)/float64(size))
				p := kit.LogLog(title, "order α", "ρ(α)", .75)
				for k, c := range got {
					x := floats(c.Params.Order)
					p.Items = append(p.Items, curve(k, dashed, x, c.Value.PostHoc),
						curve(k, full, x, c.Value.Transport))
				}
				return p
			}, groupKey(groups, dashKey("no conditioning, optimal coupling (upper bound)", full),
				dashKey("post-hoc of agnostic (upper bound)", dashed))...)
		ex.Pictures = append(ex.Pictures, kit.Picture(fmt.Sprintf("N%d", size), panels,
			kit.Badge(v.Source, "%d orders", len(all[0].Params.Order)), fmt.Sprintf(
				"Rényi divergence for K substituted records of N = %d, batches of n without replacement: transport "+
					"without conditioning (full lines) against post-hoc group privacy (dashed).", size)))
	}
	ex.Notes = []string{
		"No conditioning: SSKG, Theorem 3.3. Batches are classed by the number of group records in them " +
			"(hypergeometric), and the coupling of the two batch distributions is the optimal one, found by the " +
			"network simplex of ot/exact with a certificate. It is diagonal: a batch is coupled with one that holds " +
			"as many group records.",
		"Post-hoc: Wang, Balle, Kasiviswanathan 2019, Theorem 9 for one substitution, then group privacy (Mironov " +
			"2017, Proposition 11). The paper draws the self-consistent version of that theorem, which is smaller " +
			"in part of the range; package dp has it for mechanisms with finitely many outputs only.",
		"The code published with the paper divides the logarithm of the moment without conditioning by α + 1; the " +
			"Rényi divergence has α − 1, as here. At α = 2 its line is three times too low, and so the paper's gap " +
			"is smaller than the true one.",
	}
	return ex, nil
}

func claimTransport(v lab.View[TransportParams, TransportOut]) ([]lab.Claim, error) {
	none := math.Inf(-1)
	gap, off, gain, more := none, none, none, math.Inf(1)
	for i, c := range v.Cells {
		if c.Params.Group > 1 {
			more = min(more, c.Value.Transport[0]/v.Cells[i-1].Value.Transport[0])
		}
		gap, off = max(gap, c.Value.Gap), max(off, c.Value.OffDiagonal)
		gain = max(gain, c.Value.Transport[0]/c.Value.PostHoc[0])
	}
	return []lab.Claim{
		kit.AtMost("duality gap of the optimal couplings relative to their cost, the largest",
			"strong duality", gap, 1e-3, "a class of weight 1e-12 may cost 1e12 times the bound, so that rounding "+
				"of costs alone leaves 1e-4; the next claim shows the coupling itself",
			looseCoupling),
		kit.AtMost("mass off the diagonal of the optimal couplings, the largest",
			"max(i, j) is at least i, so the diagonal is optimal for equal marginals", off, 1e-12,
			"rounding of weights", looseCoupling),
		kit.AtLeast("no conditioning, ρ(2) of a group over that of the next smaller one, the least",
			"a batch that holds several moves farther", more, 1.5, "twice as many records", looseCoupling),
		kit.AtLeast("no conditioning over post-hoc ρ(2), the largest, at least",
			"SSKG, section 3: “much weaker than those from prior work”", gain, 10,
			"a decade; the paper gives no number", looseCoupling),
	}, nil
}

// transportCell is a finished cell.
type transportCell = lab.Result[TransportParams, TransportOut]
