package semidual

import (
	"context"
	"math"
	"runtime"

	"coupling/lab/device"
	"coupling/lab/device/cpu"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// cloud is the atoms of one class and their potentials, which are public since they come from
// releases.
type cloud struct {
	x     *mat.Dense // rounded to grain
	norm2 []float64
	v     []float64
	reg   float64
}

func newCloud(x *mat.Dense, v []float64, reg float64) *cloud {
	n, _ := x.Dims()
	c := &cloud{x: mat.DenseCopyOf(x), norm2: make([]float64, n), v: v, reg: reg}
	for i := range n {
		row := c.x.RawRowView(i)
		for j, u := range row {
			row[j] = roundTo(u, grain)
		}
		c.norm2[i] = floats.Dot(row, row)
	}
	return c
}

func roundTo(v, step float64) float64 { return math.Round(v/step) * step }

// distances writes |y−x_i|² to d, exactly: inner products and norms are of multiples of grain.
func (c *cloud) distances(d, dots []float64, norm2 float64) {
	for i, dot := range dots {
		d[i] = norm2 + c.norm2[i] - 2*dot
	}
}

// weights writes w(y) = softmax_i((v_i − d_i)/reg), rounded down to multiples of share: Σ w ≤ 1, so |w|₂ ≤ 1.
func (c *cloud) weights(w, d []float64) {
	top := math.Inf(-1)
	for i, u := range d {
		w[i] = (c.v[i] - u) / c.reg
		top = max(top, w[i])
	}
	sum := 0.
	for i, z := range w {
		w[i] = math.Exp(z - top)
		sum += w[i]
	}
	for i, e := range w {
		w[i] = math.Floor(e/sum*(1-0x1p-40)/share) * share
	}
}

// pull writes to s the weights scaled so that |s⊗(y−x)|₂ = √Σ s_i²|y−x_i|² ≤ clip, rounded down.
func pull(s, w, d []float64, clip float64) {
	norm := 0.
	for i, u := range w {
		norm += u * u * d[i]
	}
	factor := 1.
	if norm > clip*clip {
		factor = clip / math.Sqrt(norm) * (1 - 0x1p-40)
	}
	for i, u := range w {
		s[i] = math.Floor(u*factor/share) * share
	}
}

// visitor is called with each record of a class and its distances.
type visitor func(y, d []float64)

// visit calls visitors for the records of a class, in parts that run in parallel: begin returns the
// visitor of a part and what adds up what it has seen, one part after the other. Sums are exact, so
// that results do not depend on the number of parts. The arguments for a record depend only on that
// record and the cloud. Products in float32 would break this: a device chooses its algorithm by the
// number of records, so one record could change the rounding of all distances. In float64, products
// of multiples of grain are exact, on every device and in any order.
func (r *records) visit(dev *device.Device, l int, c *cloud, begin func() (visitor, func())) error {
	n := len(r.norm2[l])
	if n == 0 {
		return nil
	}
	k, _ := c.x.Dims()
	y := r.table(l)
	scope := dev.Scope()
	dots := dev.New(device.Float64, n, k)
	device.Gemm(dots, 1, dev.FromDense(device.Float64, y).N(), dev.FromDense(device.Float64, c.x).T(), 0)
	host, err := dots.Get64()
	scope.Close()
	if err != nil {
		return err
	}
	// A chunk a processor: sums are exact, so that results do not depend on their number.
	size := (n-1)/runtime.GOMAXPROCS(0) + 1
	add := make([]func(), (n-1)/size+1)
	_ = cpu.Chunks(context.Background(), n, size, func(chunk, lo, hi int) {
		f, end := begin()
		d := make([]float64, k)
		for i := lo; i < hi; i++ {
			c.distances(d, host[i*k:(i+1)*k], r.norm2[l][i])
			f(y.RawRowView(i), d)
		}
		add[chunk] = end
	})
	for _, end := range add {
		end()
	}
	return nil
}

// transport sums w(y) and the clipped s(y)⊗(y−x) over the records of class l: mass[i] = Σ_y
// w_i(y), row i of move is Σ_y s_i(y)(y − x_i).
func (r *records) transport(
	dev *device.Device, l int, c *cloud, clip float64,
) (mass []float64, move *mat.Dense, err error) {
	n, dim := c.x.Dims()
	mass, move = make([]float64, n), mat.NewDense(n, dim, nil)
	err = r.visit(dev, l, c, func() (visitor, func()) {
		held, pulled, w, s, moved := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n),
			mat.NewDense(n, dim, nil)
		return func(y, d []float64) {
				c.weights(w, d)
				pull(s, w, d, clip)
				floats.Add(held, w)
				floats.Add(pulled, s)
				for i, u := range s {
					if u > 0 {
						floats.AddScaled(moved.RawRowView(i), u, y)
					}
				}
			}, func() {
				floats.Add(mass, held)
				move.Add(move, moved)
				for i, u := range pulled {
					floats.AddScaled(move.RawRowView(i), -u, c.x.RawRowView(i))
				}
			}
	})
	return mass, move, err
}

// triangle is the number of entries on and above the diagonal.
func triangle(d int) int { return d * (d + 1) / 2 }

// scatter sums the outer products (y−x_j)(y−x_j)ᵀ of the records of class l with their
// likeliest atom j, over the coefficients keep, each of Frobenius norm at most clip, as the upper
// triangle with √2 off the diagonal, whose Euclidean norm is the Frobenius norm. With scale,
// factors of the coefficients, products are rounded towards 0 to the grain again.
func (r *records) scatter(
	dev *device.Device, l int, c *cloud, keep []int, scale []float64, clip float64,
) ([]float64, error) {
	dim := len(keep)
	sum := mat.NewSymDense(dim, nil)
	err := r.visit(dev, l, c, func() (visitor, func()) {
		part, a, z := mat.NewSymDense(dim, nil), make([]float64, dim), make([]float64, len(c.v))
		return func(y, d []float64) {
			floats.SubTo(z, c.v, d)
			x := c.x.RawRowView(floats.MaxIdx(z))
			for i, k := range keep {
				a[i] = y[k] - x[k]
			}
			for i, s := range scale {
				a[i] = math.Trunc(a[i]*s/grain) * grain
			}
			addOuter(part, a, clip)
		}, func() { sum.AddSym(sum, part) }
	})
	return pack(sum), err
}

// addOuter adds min(1, clip/|a|²)·aaᵀ, the factor rounded down to a multiple of part: with a on the
// grain the sum is exact.
func addOuter(sum *mat.SymDense, a []float64, clip float64) {
	if norm := floats.Dot(a, a); norm > clip {
		f := math.Floor(clip/norm/part) * part
		if f == 0 {
			return
		}
		for i, u := range a {
			row := sum.RawSymmetric().Data[i*len(a):]
			for j := i; j < len(a); j++ {
				row[j] += f * (u * a[j])
			}
		}
		return
	}
	for i, u := range a {
		floats.AddScaled(sum.RawSymmetric().Data[i*len(a)+i:(i+1)*len(a)], u, a[i:])
	}
}

// pack writes the upper triangle, off the diagonal times √2.
func pack(m *mat.SymDense) []float64 {
	n := m.SymmetricDim()
	out := make([]float64, 0, triangle(n))
	for i := range n {
		for j := i; j < n; j++ {
			v := m.At(i, j)
			if j > i {
				v *= math.Sqrt2
			}
			out = append(out, v)
		}
	}
	return out
}

// unpack is the inverse of pack.
func unpack(v []float64, n int) *mat.SymDense {
	m := mat.NewSymDense(n, nil)
	k := 0
	for i := range n {
		for j := i; j < n; j++ {
			u := v[k]
			if j > i {
				u /= math.Sqrt2
			}
			m.SetSym(i, j, u)
			k++
		}
	}
	return m
}
