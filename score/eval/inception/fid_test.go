package inception

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/data"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn/safetensors"
	"coupling/ot/gaussian"
	"coupling/score/eval/distance"
)

// planes are the channels of an image in float64: the plain reading of the network that the test compares with.
type planes struct {
	c, h, w int
	v       []float64
}

func (p planes) at(c, y, x int) float64 { return p.v[(c*p.h+y)*p.w+x] }

// plain is Inception-v3 as pytorch-fid has it: convolution, batch normalisation and ReLU one after the other, by loops.
type plain map[string]safetensors.Tensor

// conv is a named unit, with stride and the padding of each side.
func (w plain) conv(name string, x planes, stride, py, px int) planes {
	k := w[name+".conv.weight"]
	out, in, kh, kw := k.Shape[0], k.Shape[1], k.Shape[2], k.Shape[3]
	part := func(s string, c int) float64 { return float64(w[name+".bn."+s].Data[c]) }
	y := planes{out, (x.h+2*py-kh)/stride + 1, (x.w+2*px-kw)/stride + 1, nil}
	for o := range out {
		scale := part("weight", o) / math.Sqrt(part("running_var", o)+.001)
		for i := range y.h {
			for j := range y.w {
				sum := 0.
				for c := range in {
					for a := max(0, py-i*stride); a < min(kh, x.h+py-i*stride); a++ {
						for b := max(0, px-j*stride); b < min(kw, x.w+px-j*stride); b++ {
							sum += float64(k.Data[((o*in+c)*kh+a)*kw+b]) * x.at(c, i*stride+a-py, j*stride+b-px)
						}
					}
				}
				y.v = append(y.v, max(0, (sum-part("running_mean", o))*scale+part("bias", o)))
			}
		}
	}
	return y
}

// poolPlain takes the maximum or the mean of what lies in the image of each 3×3 window.
func poolPlain(x planes, stride, pad int, mean bool) planes {
	y := planes{x.c, (x.h+2*pad-3)/stride + 1, (x.w+2*pad-3)/stride + 1, nil}
	for c := range x.c {
		for i := range y.h {
			for j := range y.w {
				sum, most, n := 0., math.Inf(-1), 0.
				for a := max(0, i*stride-pad); a < min(x.h, i*stride-pad+3); a++ {
					for b := max(0, j*stride-pad); b < min(x.w, j*stride-pad+3); b++ {
						sum, most, n = sum+x.at(c, a, b), max(most, x.at(c, a, b)), n+1
					}
				}
				if mean {
					most = sum / n
				}
				y.v = append(y.v, most)
			}
		}
	}
	return y
}

func join(parts ...planes) planes {
	out := planes{h: parts[0].h, w: parts[0].w}
	for _, p := range parts {
		out.c, out.v = out.c+p.c, append(out.v, p.v...)
	}
	return out
}

// features of an image of bytes, by the names in the file.
func (w plain) features(x planes) []float64 {
	c := func(name string, x planes) planes { return w.conv(name, x, 1, 0, 0) }
	p := func(name string, x planes, pad int) planes { return w.conv(name, x, 1, pad, pad) }
	wide := func(name string, x planes, pad int) planes { return w.conv(name, x, 1, 0, pad) }
	tall := func(name string, x planes, pad int) planes { return w.conv(name, x, 1, pad, 0) }
	half := func(name string, x planes) planes { return w.conv(name, x, 2, 0, 0) }
	x = p("Conv2d_2b_3x3", c("Conv2d_2a_3x3", half("Conv2d_1a_3x3", x)), 1)
	x = poolPlain(c("Conv2d_4a_3x3", c("Conv2d_3b_1x1", poolPlain(x, 2, 0, false))), 2, 0, false)
	for _, m := range []string{"Mixed_5b.", "Mixed_5c.", "Mixed_5d."} {
		x = join(c(m+"branch1x1", x), p(m+"branch5x5_2", c(m+"branch5x5_1", x), 2),
			p(m+"branch3x3dbl_3", p(m+"branch3x3dbl_2", c(m+"branch3x3dbl_1", x), 1), 1),
			c(m+"branch_pool", poolPlain(x, 1, 1, true)))
	}
	m := "Mixed_6a."
	x = join(half(m+"branch3x3", x), half(m+"branch3x3dbl_3", p(m+"branch3x3dbl_2", c(m+"branch3x3dbl_1", x), 1)),
		poolPlain(x, 2, 0, false))
	for _, m := range []string{"Mixed_6b.", "Mixed_6c.", "Mixed_6d.", "Mixed_6e."} {
		d := m + "branch7x7dbl_"
		x = join(c(m+"branch1x1", x), tall(m+"branch7x7_3", wide(m+"branch7x7_2", c(m+"branch7x7_1", x), 3), 3),
			wide(d+"5", tall(d+"4", wide(d+"3", tall(d+"2", c(d+"1", x), 3), 3), 3), 3),
			c(m+"branch_pool", poolPlain(x, 1, 1, true)))
	}
	m = "Mixed_7a."
	x = join(half(m+"branch3x3_2", c(m+"branch3x3_1", x)),
		half(m+"branch7x7x3_4", tall(m+"branch7x7x3_3", wide(m+"branch7x7x3_2", c(m+"branch7x7x3_1", x), 3), 3)),
		poolPlain(x, 2, 0, false))
	for _, m := range []string{"Mixed_7b.", "Mixed_7c."} {
		a, b := c(m+"branch3x3_1", x), p(m+"branch3x3dbl_2", c(m+"branch3x3dbl_1", x), 1)
		x = join(c(m+"branch1x1", x), wide(m+"branch3x3_2a", a, 1), tall(m+"branch3x3_2b", a, 1),
			wide(m+"branch3x3dbl_3a", b, 1), tall(m+"branch3x3dbl_3b", b, 1),
			c(m+"branch_pool", poolPlain(x, 1, 1, m == "Mixed_7b.")))
	}
	out := make([]float64, x.c)
	for i, v := range x.v {
		out[i/(x.h*x.w)] += v / float64(x.h*x.w)
	}
	return out
}

// enlarged is image i as three equal planes of 299×299 in [−1, 1]: bytes, bilinear, half-pixel centres.
func enlarged(m *data.Images, i int) planes {
	_, _, h, w := m.Shape()
	row := m.Row(i)
	at := func(y, x int) float64 {
		return math.Round(255 * float64(row[min(max(y, 0), h-1)*w+min(max(x, 0), w-1)]))
	}
	var plane []float64
	for y := range 299 {
		for x := range 299 {
			v, u := (float64(y)+.5)*float64(h)/299-.5, (float64(x)+.5)*float64(w)/299-.5
			v, u = max(v, 0), max(u, 0)
			a, b := math.Floor(v), math.Floor(u)
			p, q := int(a), int(b)
			value := (1-v+a)*((1-u+b)*at(p, q)+(u-b)*at(p, q+1)) + (v-a)*((1-u+b)*at(p+1, q)+(u-b)*at(p+1, q+1))
			plane = append(plane, value/127.5-1)
		}
	}
	one := planes{1, 299, 299, plane}
	return join(one, one, one)
}

// The Fréchet distance in the features of a network of a sixteenth of the width, whose weights come
// from a file of the format that the user names, against one that shares no code with it: another
// forward pass, in float64, and another formula.
func TestFID(t *testing.T) {
	weights := random(16)
	t.Setenv(Variable, save(t, weights))
	name := Chosen()
	if Distance(name) != "FD-Inception/16" || Distance("Inception-1a2b3c4d") != "FID" || Distance("") != "FD-LeNet" {
		t.Errorf("%q is called %q", name, Distance(name))
	}
	dev := devicetest.CPU(t)
	n := must.Get(OpenChosen(dev, name))
	defer n.Free()
	if _, err := OpenChosen(dev, "Inception-00000000"); !errors.Is(err, ErrWeights) {
		t.Error(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	draw := func(count int, brightness float32) (*data.Images, *mat.Dense) {
		m := must.Get(data.New(count, 1, 28, 28))
		for i := range m.Pixels() {
			m.Pixels()[i] = brightness * rng.Float32()
		}
		features := mat.NewDense(count, 128, nil)
		for i := range count {
			features.SetRow(i, plain(weights).features(enlarged(m, i)))
		}
		return m, features
	}
	real, x := draw(4, 1)
	generated, y := draw(5, .6)
	got := must.Get(distance.Between(t.Context(), n, generated, real))
	// float32 through 20 layers, of features whose squared spread the distance is
	p, q := must.Get(gaussian.Empirical(x, nil)), must.Get(gaussian.Empirical(y, nil))
	if want := must.Get(gaussian.Wasserstein(p, q)); math.Abs(got.Frechet-want) > 1e-3*want || !(want > 0) {
		t.Errorf("distance %v, independently %v", got.Frechet, want)
	}
}
