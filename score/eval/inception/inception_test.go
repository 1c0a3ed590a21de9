package inception

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/data"
	"coupling/lab/device/devicetest"
	"coupling/lab/must"
	"coupling/lab/nn/safetensors"
	"coupling/score/eval/distance"
)

var _ distance.Features = (*Network)(nil)

// random is the weights of Random.
func random(divide int) map[string]safetensors.Tensor {
	return must.Get(safetensors.Decode(Random(divide)))
}

// Torchvision counts 23,834,568 parameters without the auxiliary classifier, of which 2,049,000 are those of fc; and
// there are 94 convolutions in the network of Szegedy et al.
func TestParameters(t *testing.T) {
	b := newBuilder(1)
	count := 0
	for _, c := range b.convs {
		count += c.Out*c.In*c.Window.Kernel[0]*c.Window.Kernel[1] + 2*c.Out
	}
	if len(b.convs) != 94 || count != 23_834_568-2_049_000 {
		t.Errorf("%d convolutions, %d parameters", len(b.convs), count)
	}
}

// The folded convolution is convolution, batch normalisation by running statistics and ReLU.
func TestFold(t *testing.T) {
	dev := devicetest.CPU(t)
	defer dev.Scope().Close()
	const name = "Conv2d_1a_3x3"
	weights := random(8)
	w, bias := fold(name, weights)
	conv := weights[name+".conv.weight"]
	k := 2
	x := make([]float64, len(w)/len(bias))
	sum, folded := 0., bias[k]
	for i := range x {
		x[i] = math.Sin(float64(i))
		sum += x[i] * float64(conv.Data[k*len(x)+i])
		folded += x[i] * w[k*len(x)+i]
	}
	at := func(part string) float64 { return float64(weights[name+part].Data[k]) }
	want := (sum-at(".bn.running_mean"))/math.Sqrt(at(".bn.running_var")+.001)*at(".bn.weight") + at(".bn.bias")
	if math.Abs(folded-want) > 1e-12 {
		t.Errorf("folded %v, want %v", folded, want)
	}
}

// Means over what lies in the image, by hand.
func TestPools(t *testing.T) {
	dev := devicetest.CPU(t)
	defer dev.Scope().Close()
	x := dev.From64([]float64{1, 2, 3, 4, 5, 6}, 1, 1, 2, 3)
	got := must.Get(borderMean(x).Float64s())
	for i, want := range []float64{3, 3.5, 4, 3, 3.5, 4} {
		if math.Abs(got[i]-want) > 1e-14 {
			t.Errorf("mean %d = %v, want %v", i, got[i], want)
		}
	}
}

// The whole network at an eighth of its width, from a file and back: features do not depend on the batch that an image
// is in, nor on its range; and grey images are those of three equal channels.
func TestNetwork(t *testing.T) {
	dev := devicetest.CPU(t)
	n := newBuilder(8).build(dev, random(8))
	defer n.Free()
	images := must.Get(data.New(2, 1, 28, 28))
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range images.Pixels() {
		images.Pixels()[i] = rng.Float32()
	}
	all := must.Get(n.Of(t.Context(), images))
	signed := must.Get(images.Slice(1, 2).Scale(-1, 1))
	colour := must.Get(signed.RGB())
	one := must.Get(n.Of(t.Context(), colour))
	rows, cols := all.Dims()
	if rows != 2 || cols != 256 {
		t.Fatalf("%d×%d features", rows, cols)
	}
	differ := false
	for j := range cols {
		// float32 through 20 layers of a few hundred terms each
		if a, b := all.At(1, j), one.At(0, j); math.Abs(a-b) > 1e-4*(1+math.Abs(a)) || math.IsNaN(a) {
			t.Errorf("feature %d = %v in a batch, %v alone", j, a, b)
		}
		differ = differ || math.Abs(all.At(0, j)-all.At(1, j)) > 1e-3
	}
	if !differ {
		t.Error("two images have the same features")
	}
}

// A file that is not the right one is refused, and says what is wrong.
func TestRefusals(t *testing.T) {
	dev := devicetest.CPU(t)
	good := random(8)
	for name, change := range map[string]func(w map[string]safetensors.Tensor){
		"missing": func(w map[string]safetensors.Tensor) { delete(w, "Mixed_7c.branch_pool.bn.bias") },
		"no fc":   func(w map[string]safetensors.Tensor) { delete(w, "fc.weight") },
		"unknown": func(w map[string]safetensors.Tensor) { w["Mixed_9.w"] = safetensors.Tensor{Shape: []int{0}} },
		"torchvision": func(w map[string]safetensors.Tensor) {
			w["fc.weight"] = safetensors.Tensor{Shape: []int{1000, 256}}
		},
		"variance": func(w map[string]safetensors.Tensor) {
			w["Conv2d_1a_3x3.bn.running_var"] = safetensors.Tensor{Shape: []int{4}, Data: []float32{1, 1, -1, 1}}
		},
		"NaN": func(w map[string]safetensors.Tensor) {
			w["Conv2d_1a_3x3.bn.bias"] = safetensors.Tensor{Shape: []int{4},
				Data: []float32{1, 1, float32(math.NaN()), 1}}
		},
	} {
		w := make(map[string]safetensors.Tensor)
		for k, v := range good {
			w[k] = v
		}
		change(w)
		if err := newBuilder(8).check(w); !errors.Is(err, ErrWeights) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mixed := maps.Clone(good) // a first convolution of another width than the rest
	mixed["Conv2d_1a_3x3.conv.weight"] = random(4)["Conv2d_1a_3x3.conv.weight"]
	if _, err := Name(save(t, mixed)); !errors.Is(err, ErrWeights) {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), dev); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if diff := cmp.Diff(digest(good), digest(random(8))); diff != "" {
		t.Error(diff)
	}
}

// save writes a file of weights.
func save(t *testing.T, weights map[string]safetensors.Tensor) string {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	must.Do(os.WriteFile(path, safetensors.Encode(weights), 0o600))
	return path
}
