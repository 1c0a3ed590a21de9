package devicetest

import (
	"fmt"

	"coupling/lab/device"
	"coupling/lab/device/devicetest/internal/ref"
)

// resamplers are the ways to resample, each with its transpose.
var resamplers = [...]struct {
	name string
	try  func(k *kit, x ref.Images, oh, ow int)
}{
	{"Nearest", func(k *kit, x ref.Images, oh, ow int) {
		k.resampled("Nearest", ref.Nearest, true, x, oh, ow, device.Nearest, device.NearestVJP)
	}},
	{"Bilinear", func(k *kit, x ref.Images, oh, ow int) { k.interpolated(false, x, oh, ow) }},
	{"Bilinear aligned", func(k *kit, x ref.Images, oh, ow int) { k.interpolated(true, x, oh, ow) }},
}

func resamplings() (all []scenario) {
	for _, r := range resamplers {
		all = append(all, scenario{r.name, func(k *kit) { k.resample(r.try) }})
	}
	return all
}

// resample goes up, down, both, and by ratios that are not whole.
func (k *kit) resample(try func(k *kit, x ref.Images, oh, ow int)) {
	for _, z := range [][4]int{
		{8, 8, 16, 16}, {4, 4, 4, 4}, {16, 16, 8, 8}, {7, 5, 14, 15}, {7, 5, 3, 2}, {3, 9, 5, 4}, {1, 1, 6, 7},
		{6, 7, 1, 1},
		{1, 4, 3, 2}, {31, 33, 17, 67}, {2, 2, 33, 3}, {3, 3, 0, 5},
	} {
		try(k, k.images(2, 3, z[0], z[1]), z[2], z[3])
	}
	for range 8 {
		try(k, k.images(2, 3, k.size(1, 17), k.size(1, 17)), k.size(1, 17), k.size(1, 17))
	}
}

func (k *kit) interpolated(align bool, x ref.Images, oh, ow int) {
	k.resampled("Bilinear", ref.Bilinear(align), false, x, oh, ow,
		func(y, x *device.Array) { device.Bilinear(y, x, align) },
		func(dx, dy *device.Array) { device.BilinearVJP(dx, dy, align) })
}

// resampled compares one resampling and its transpose. Copies are exact. A bilinear weight is a position less a whole
// number: its error is the position's, and enters the scale as the image's size; 8 for four products and a sum. In the
// transpose each input collects from outputs nearby.
func (k *kit) resampled(name string, s ref.Sampler, copies bool, x ref.Images, oh, ow int,
	forward, vjp func(to, from *device.Array)) {
	k.Helper()
	what := fmt.Sprintf("%s %d×%d to %d×%d", name, x.H, x.W, oh, ow)
	y := k.dst(x.N, x.C, oh, ow)
	forward(y, k.put(x.Data, x.Shape()...))
	if copies {
		k.exactBy(what, y, func() []float64 { return ref.Resample(s, x, oh, ow).Value })
	} else {
		k.near(what, y, 8, func() ref.Result { return ref.Resample(s, x, oh, ow) })
	}
	dy, dx := k.normals(x.N*x.C*oh*ow, 1), k.dst(x.Shape()...)
	vjp(dx, k.put(dy, x.N, x.C, oh, ow))
	k.near(what+", transposed", dx, 8+sums((oh/x.H+1)*(ow/x.W+1)),
		func() ref.Result { return ref.ResampleVJP(s, x, dy, oh, ow) })
}
