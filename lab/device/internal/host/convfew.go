package host

import "coupling/lab/device/cpu"

// A convolution that makes very few channels would leave most of a vector of channels empty. Its
// vectors are pixels instead: a matrix product makes the products of each tap with all channels,
// and a result is the sum over the taps that meet in it.

const (
	fewChannels = 4  // at most so many are few
	fewInputs   = 8  // the least channels to sum over, and
	fewPixels   = 64 // the least results, that pay for the sums over taps
)

// makesFew reports whether the channels are few and the window is one that this way takes. It
// depends on the shapes of one example alone, as interleave does.
func (g *gathering[T]) makesFew() bool {
	return g.out <= fewChannels && g.in >= fewInputs && g.h*g.w >= fewPixels && g.pad.isPlain(g.weights.area)
}

// isPlain reports whether windows of area taps lie side by side and no tap reads zeros alone.
func (p padding) isPlain(area int) bool {
	r, c := p.rows.phases, p.cols.phases
	return len(r) == 1 && len(c) == 1 && r[0].stride == 1 && c[0].stride == 1 && len(r[0].taps)*len(c[0].taps) == area
}

// few is run for few channels, image by image.
func (g *gathering[T]) few() {
	r, c := g.pad.rows.phases[0], g.pad.cols.phases[0]
	plane, across, source := g.pad.plane(), g.pad.cols.size, g.pad.h*g.pad.w
	results := (g.h-1)*across + g.w // of a padded plane: what the rows are apart included
	g.e.itemsPad(g.n, 1, func(pad *pad[T], i int) {
		image := pad.zeros(0, g.in*plane)
		copyPlanes(g.e.k, g.pad, image, g.src[i*g.in*source:], g.in)
		for o := range g.out {
			products, sums := pad.zeros(1, g.weights.area*plane), pad.zeros(2, results)
			weights := cpu.Matrix[T]{
				Data:      g.weights.data[o*g.weights.outStep:],
				Rows:      g.weights.area,
				Cols:      g.in,
				RowStride: 1,
				ColStride: g.weights.inStep,
			}
			pad.gemm.Add(cpu.Dense(products, g.weights.area, plane), 1, weights, cpu.Dense(image, g.in, plane))
			for _, y := range r.offsets {
				for _, x := range c.offsets {
					g.e.k.Axpy(sums, 1, products[y*across+x:][:results])
					products = products[plane:]
				}
			}
			g.e.k.CopyRows(g.dst[(i*g.out+o)*g.h*g.w:], g.w, sums, across, g.h, g.w)
		}
	})
}
