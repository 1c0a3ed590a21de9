package ot_test

import (
	"fmt"
	"testing"

	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/ot"
)

// BenchmarkOnDevice times half-steps, and whole solves on a device beside the host. Every pass over
// n·m pairs of a solve is two half-steps, and two exponentials a pair.
func BenchmarkOnDevice(b *testing.B) {
	d := openDevice(b)
	b.Logf("%v: %s", d, d.Info().Detail)
	b.Run("half-step", func(b *testing.B) { halfSteps(b, d) })
	b.Run("solve", func(b *testing.B) { wholeSolves(b, d) })
	b.Run("gradient", func(b *testing.B) { gradients(b, d) })
}

// sizes are what a device is given: the host takes seconds for what a GPU does in milliseconds.
func sizes(d *device.Device, host, gpu []int) []int {
	if d.Info().Kind == "cpu" {
		return host
	}
	return gpu
}

func halfSteps(b *testing.B, d *device.Device) {
	for _, n := range sizes(d, []int{1024, 4096}, []int{4096, 32768, 131072}) {
		for _, dim := range []int{2, 8, 64} {
			for _, t := range []device.DType{device.Float32, device.Float64} {
				b.Run(fmt.Sprintf("%v/n=%d/d=%d", t, n, dim), func(b *testing.B) {
					defer d.Scope().Close()
					rng := seeded(1, 1)
					x, y := d.FromDense(t, cloud(rng, n, dim, 1, 0)), d.FromDense(t, cloud(rng, n, dim, 1, 1))
					h, out := d.Zeros(t, n), d.New(t, n)
					step := func() { device.PointLSE(out, x, y, h, device.Cost{Square: 1}, 10) }
					step() // loads the kernel
					must.Do(d.Sync())
					for b.Loop() {
						step()
						must.Do(d.Sync())
					}
					pairs := float64(n) * float64(n) * float64(b.N)
					b.ReportMetric(pairs/b.Elapsed().Seconds()/1e9, "Gpairs/s")
				})
			}
		}
	}
}

func wholeSolves(b *testing.B, d *device.Device) {
	for _, n := range sizes(d, []int{1024, 4096}, []int{4096, 32768, 131072}) {
		for _, dim := range []int{2, 64} {
			if n > 1<<15 && dim > 2 {
				continue // minutes
			}
			rng := seeded(1, 1)
			x, y := cloud(rng, n, dim, 1, 0), cloud(rng, n, dim, 1, 1)
			for _, ratio := range []float64{0.1, 0.01} {
				eps := ratio * float64(dim) // of the order of the mean cost
				for _, tol := range []float64{1e-3, 1e-6} {
					name := fmt.Sprintf("n=%d/d=%d/ratio=%g/tol=%g", n, dim, ratio, tol)
					for _, t := range []device.DType{device.Float32, device.Float64} {
						b.Run(fmt.Sprintf("%v/%s", t, name), func(b *testing.B) {
							g := ot.PointsOn(d, x, y, ot.SqEuclidean)
							g.Type = t
							defer g.Close()
							solveLoop(b, ot.LBFGS{Eps: eps, Tol: tol}, uniform(g))
						})
					}
					if n <= 4096 {
						b.Run("host/"+name, func(b *testing.B) {
							solveLoop(b, ot.LBFGS{Eps: eps, Tol: tol},
								uniform(ot.Points(x, y, ot.SqEuclidean)))
						})
					}
				}
			}
		}
	}
}

func gradients(b *testing.B, d *device.Device) {
	for _, n := range sizes(d, []int{1024}, []int{4096, 32768}) {
		rng := seeded(1, 1)
		x, y := cloud(rng, n, 2, 1, 0), cloud(rng, n, 2, 1, 1)
		g := ot.PointsOn(d, x, y, ot.SqEuclidean)
		plan := must.Get(ot.LBFGS{Eps: 0.2, Tol: 1e-6}.Solve(ctx, uniform(g)))
		for _, loss := range []ot.Loss{ot.Sharp, ot.RegKL} {
			b.Run(fmt.Sprintf("%v/n=%d", loss, n), func(b *testing.B) {
				for b.Loop() {
					grad := must.Get(plan.Grad(loss))
					if _, err := grad.X(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		g.Close()
	}
}
