package host

import (
	"math"

	"coupling/lab/device/cpu"
	"coupling/lab/device/internal/backend"
)

// Biases, normalisations and the activations after them. Runs of elements stay in the second-level cache while all is
// done to them: memory is read and written once.

// absentOr is the elements of a tensor, or one that stands for it where it is absent.
func absentOr[T cpu.Float](t tensor, neutral T) []T {
	if t.Mem == nil {
		return []T{neutral}
	}
	return view[T](t)
}

// affine is the elements of a backend.Affine.
type affine[T cpu.Float] struct{ scale, center, shift []T }

func affineOf[T cpu.Float](by backend.Affine) affine[T] {
	return affine[T]{absentOr[T](by.Scale, 1), absentOr[T](by.Center, 0), absentOr[T](by.Shift, 0)}
}

// run is z = scale·(x − center) + shift, from the offsets at on and step apart; z may be x.
func (a affine[T]) run(z, x []T, at, step [maxOperands]int) {
	z = z[:len(x)]
	s, c, b := a.scale[at[0]:], a.center[at[1]:], a.shift[at[2]:]
	if step == [maxOperands]int{} {
		s, c, b := s[0], c[0], b[0]
		if s == 1 && c == 0 {
			right(z, x, b, backend.Add)
			return
		}
		for i, v := range x {
			z[i] = s*(v-c) + b
		}
		return
	}
	for i, v := range x {
		z[i] = s[i*step[0]]*(v-c[i*step[1]]) + b[i*step[2]]
	}
}

// Affine is y = f(scale·(x − center) + shift).
func (e *engine[T]) Affine(y, x tensor, by backend.Affine) {
	ys, xs, a := view[T](y), view[T](x), affineOf[T](by)
	var bend func(lo, hi int)
	if by.Func != backend.Identity {
		bend = func(lo, hi int) { e.apply(ys[lo:hi], ys[lo:hi], by.Func, by.P) }
	}
	e.rowsThen(broadcast(y.Shape, by.Scale.Shape, by.Center.Shape, by.Shift.Shape),
		func(d, n int, at, step [maxOperands]int) {
			a.run(ys[d:d+n], xs[d:d+n], at, step)
		}, bend)
}

// derivative are the arguments of AffineVJP beside x.
type derivative[T cpu.Float] struct {
	by         backend.Affine
	a          affine[T]
	at         loops // of by over the shape of sum
	dz, y, dy  []T
	sum, along []T // along is nil where it is not asked for
}

// AffineVJP is dz = f'(z)·dy with its sums.
func (e *engine[T]) AffineVJP(dz, sum, along, x, y, dy tensor, by backend.Affine) {
	d := derivative[T]{by: by, a: affineOf[T](by), dz: view[T](dz), y: view[T](y), dy: view[T](dy), sum: view[T](sum)}
	d.at = broadcast(sum.Shape, by.Scale.Shape, by.Center.Shape, by.Shift.Shape)
	if along.Mem != nil {
		d.along = view[T](along)
	}
	e.reduce(sum, x, reduction[T]{f: slopes, d: &d})
}

func (d *derivative[T]) put(i int, p partial) {
	d.sum[i] = T(p.sum)
	if d.along != nil {
		d.along[i] = T(p.top)
	}
}

// slopes writes dz from element from on, for arguments z.
func (d *derivative[T]) slopes(e *engine[T], z []T, from int) {
	to := from + len(z)
	e.slopes(d.dz[from:to], z, d.y[from:to], d.dy[from:to], d.by.Func, d.by.P)
}

// run is the sums of n adjacent elements of result i.
func (d *derivative[T]) run(e *engine[T], i, from int, x []T, buf *[strip]T) (p partial) {
	at, n := d.at.at(i), len(x)
	for lo := 0; lo < n; lo += strip {
		z := buf[:min(strip, n-lo)]
		d.a.run(z, x[lo:lo+len(z)], at, [maxOperands]int{})
		d.slopes(e, z, from+lo)
	}
	dz := d.dz[from : from+n]
	p.sum = e.k.WideSum(dz)
	if d.along == nil {
		return p
	}
	c := d.a.center[at[1]]
	if p.top = e.k.WideDot(dz, x) - float64(c)*p.sum; p.top-p.top == 0 {
		return p
	}
	p.top = 0 // an infinite sum, which may lie on either side of another
	for i, v := range dz {
		p.top += float64(v) * (float64(x[i]) - float64(c))
	}
	return p
}

// rows adds rows to the sums of columns.
func (d *derivative[T]) rows(r *reduction[T], acc []partial, i, base, first, last int) {
	var s, c, b, buf [tile]T
	for j := range acc {
		at := d.at.at(i + j)
		s[j], c[j], b[j] = d.a.scale[at[0]], d.a.center[at[1]], d.a.shift[at[2]]
	}
	columns := affine[T]{s[:], c[:], b[:]}
	for cur := r.folded.from(first); first < last; first++ {
		from := base + cur.at[0]
		cur.next()
		x, z := r.x[from:from+len(acc)], buf[:len(acc)]
		columns.run(z, x, [maxOperands]int{}, [maxOperands]int{1, 1, 1})
		d.slopes(r.e, z, from)
		for j, v := range d.dz[from : from+len(acc)] {
			acc[j].sum += float64(v)
			acc[j].top += float64(v) * (float64(x[j]) - float64(c[j]))
		}
	}
}

// momentsOf is where Moments writes.
type momentsOf[T cpu.Float] struct {
	mean, variance, rstd []T
	eps                  float64
	lost                 int
}

// Moments is mean, variance and 1/√(variance + eps).
func (e *engine[T]) Moments(mean, variance, rstd, x tensor, eps float64, lost int) {
	m := momentsOf[T]{view[T](mean), view[T](variance), view[T](rstd), eps, lost}
	e.reduce(mean, x, reduction[T]{f: moments, m: &m})
}

func (m *momentsOf[T]) put(i int, p partial) {
	v := p.sum / max(1, p.n-float64(m.lost))
	m.mean[i], m.variance[i], m.rstd[i] = T(p.top), T(v), T(1/math.Sqrt(v+m.eps))
}

// mergeMoments is the moments of both (Chan, Golub and LeVeque 1979).
func mergeMoments(a, b partial) partial {
	if a.n == 0 {
		return b
	}
	n, d := a.n+b.n, b.top-a.top
	return partial{n: n, top: a.top + d*(b.n/n), sum: a.sum + b.sum + d*d*(a.n*(b.n/n))}
}

// run is the moments of adjacent elements. Sums of float32 squares in float64 lose less to the mean than rounding to
// float32 did; float64 takes deviations from the mean first.
func (m *momentsOf[T]) run(e *engine[T], x []T, buf *[strip]T) partial {
	n := float64(len(x))
	mean := e.k.WideSum(x) / n
	if !is64[T]() {
		return partial{n: n, top: mean, sum: max(0, e.k.WideDot(x, x)-n*mean*mean)}
	}
	var sum, squares float64
	for lo := 0; lo < len(x); lo += strip {
		d := buf[:min(strip, len(x)-lo)]
		for i, v := range x[lo : lo+len(d)] {
			d[i] = v - T(mean)
		}
		sum, squares = sum+e.k.WideSum(d), squares+e.k.WideDot(d, d)
	}
	return partial{n: n, top: mean + sum/n, sum: squares - sum*sum/n}
}

// rows is the moments of columns, by deviations from the first row.
func (m *momentsOf[T]) rows(r *reduction[T], acc []partial, base, first, last int) {
	var zero [tile]float64
	n := float64(last - first)
	cur := r.folded.from(first)
	for j, v := range r.x[base+cur.at[0]:][:len(acc)] {
		zero[j] = float64(v)
	}
	for ; first < last; first++ {
		for j, v := range r.x[base+cur.at[0]:][:len(acc)] {
			d := float64(v) - zero[j]
			acc[j].top += d
			acc[j].sum += d * d
		}
		cur.next()
	}
	for j, p := range acc {
		acc[j] = partial{n: n, top: zero[j] + p.top/n, sum: p.sum - p.top*p.top/n}
	}
}

// MomentsVJP is dx = scale·(dz − sum/count − (x − mean)·rstd²·along/(count − lost)) + more.
func (e *engine[T]) MomentsVJP(dx, dz, x tensor, m backend.Moments, lost int) {
	to, ds, xs := view[T](dx), view[T](dz), view[T](x)
	mean, rstd, scale, sum, along := view[T](m.Mean), view[T](m.Rstd), view[T](m.Scale), view[T](m.Sum),
		view[T](m.Along)
	more, count := absentOr[T](m.More, 0), dx.Len()/max(1, m.Mean.Len())
	share, shareOfSquares := T(1/float64(max(1, count))), T(1/float64(max(1, count-lost)))
	e.rows(broadcast(dx.Shape, m.Mean.Shape, m.More.Shape), func(d, n int, at, step [maxOperands]int) {
		out, dz, x := to[d:d+n], ds[d:d+n], xs[d:d+n]
		run := n
		if step[0] != 0 {
			run = 1
		}
		for i, j := at[0], at[1]; len(out) > 0; i, j = i+step[0], j+step[1] {
			s, c := scale[i], mean[i]
			slope := -s * rstd[i] * rstd[i] * along[i] * shareOfSquares
			plus := more[j] - s*sum[i]*share
			for k, v := range x[:run] {
				out[k] = s*dz[k] + slope*(v-c) + plus
			}
			out, dz, x = out[run:], dz[run:], x[run:]
		}
	})
}
