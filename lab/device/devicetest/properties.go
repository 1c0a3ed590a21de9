package devicetest

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/device"
	_ "coupling/lab/draws" // rapid draws from a fixed seed
	"coupling/lab/must"
)

// draw chooses a whole number from lo to hi.
type draw func(lo, hi int) int

// property is a call whose sizes are drawn by rapid, from a fuzzer's bytes too, so that failures come with small ones.
type property struct {
	name string
	hold func(k *kit, d draw)
}

func allProperties() []property {
	return []property{
		{"Broadcast", broadcastProperty}, {"Reduce", reduceProperty},
		{"Gemm", gemmProperty}, {"Window", windowProperty}, {"Resample", resampleProperty},
		{"Transport", transportProperty},
	}
}

// properties draws a hundred sizes for each property and type.
func properties(t *testing.T, open func(testing.TB) *device.Device) {
	d := open(t)
	defer closed(t, d)
	for _, p := range allProperties() {
		for _, dtype := range floats {
			t.Run(p.name+"/"+dtype.String(), rapid.MakeCheck(func(t *rapid.T) { p.check(t, d, dtype) }))
		}
	}
}

// Fuzz lets a fuzzer choose the operation and its sizes, and compares with the references. d must outlive the test.
func Fuzz(f *testing.F, d *device.Device) {
	all := allProperties()
	for seed := range 2 * len(all) {
		words := make([]byte, 800)
		must.Get(rand.NewChaCha8([32]byte{byte(seed)}).Read(words))
		f.Add(words)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		p := all[rapid.IntRange(0, len(all)-1).Draw(t, "property")]
		p.check(t, d, rapid.SampledFrom(floats[:]).Draw(t, "type"))
	}))
}

func (p property) check(t *rapid.T, d *device.Device, dtype device.DType) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	k := &kit{reporter: t, dev: d, dtype: dtype, judge: true, rng: rng}
	k.in(func(k *kit) {
		p.hold(k, func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "size") })
	})
}

// sizes is a shape of up to six axes and some thousand elements.
func (d draw) sizes() []int {
	shape := make([]int, d(0, 6))
	for i, left := 0, 3000; i < len(shape); i++ {
		shape[i] = d(0, min(left, 150))
		left /= max(1, shape[i])
	}
	return shape
}

func broadcastProperty(k *kit, d draw) {
	shape := d.sizes()
	n := 1 << len(shape)
	k.combine(binaries[d(0, len(binaries)-1)], shape, squash(shape, d(0, n-1)), squash(shape, d(0, n-1)))
}

func reduceProperty(k *kit, d draw) {
	shape := d.sizes()
	k.reduced(squash(shape, d(0, 1<<len(shape)-1)), shape, device.Reduction(d(0, len(reductionNames)-1)))
}

func gemmProperty(k *kit, d draw) {
	p := product{m: d(0, 70), n: d(0, 70), k: d(0, 70), ta: d(0, 1) > 0, tb: d(0, 1) > 0, alpha: 1}
	switch d(0, 2) {
	case 1:
		p.beta = 1
	case 2:
		p.alpha, p.beta = k.scaled(-2, 2), k.scaled(-2, 2)
	}
	if p.batch = d(0, 3); p.batch > 0 {
		p.batchA, p.batchB = []int{1, p.batch}[d(0, 1)], []int{1, p.batch}[d(0, 1)]
	}
	k.multiply(p)
}

func windowProperty(k *kit, d draw) {
	p := plane{n: d(0, 3), c: d(1, 4), h: d(1, 20), w: d(1, 20)}
	for i, size := range [2]int{p.h, p.w} {
		w := &p.win
		w.Pad[i], w.Dilation[i], w.Stride[i] = d(0, 3), d(1, 3), d(1, 4)
		w.Kernel[i] = d(1, min(6, (size+2*w.Pad[i]-1)/w.Dilation[i]+1))
	}
	k.convolution(p, d(1, 20))
}

func resampleProperty(k *kit, d draw) {
	x := k.images(d(0, 2), d(1, 3), d(1, 20), d(1, 20))
	oh, ow := d(0, 40), d(0, 40)
	resamplers[d(0, 2)].try(k, x, oh, ow)
}

func transportProperty(k *kit, d draw) {
	n, m := d(0, 70), d(0, 70)
	cost, dim := costKinds[d(0, len(costKinds)-1)], dimensions[d(0, len(dimensions)-1)]
	switch d(0, 4) {
	case 0:
		k.halfStep(d(0, 3), n, m, k.scaled(0.1, 30), false)
	case 1:
		k.plan(n, m, d(0, 3), false, k.scaled(0.1, 20))
	case 2:
		k.costs(n, m, dim, cost)
	case 3: // few rows of many columns, which are split
		k.point(n/20, 10*m, dim, cost, 1/k.scaled(0.05, 1), 0)
	default:
		k.point(n, m, dim, cost, 1/k.scaled(0.05, 1), 0)
	}
}
