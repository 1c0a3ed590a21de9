package distance_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"coupling/data"
	"coupling/data/sample"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/score/eval"
	"coupling/score/eval/distance"
)

// FD-LeNet on real digits orders what the eye orders: other digits are nearer than noisy ones, and
// noisy ones than noise; KID of other digits is 0 within its error; coverage and recall fall where
// images are no digits and where nine digits are missing. (Precision of noise is high, and its
// density may be: some real outlier has a ball that holds it all, as Naeem et al. warn.)
func TestFDLeNet(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network")
	}
	digits := must.Get(data.MNIST(t.Context(), sample.From(data.Sample), data.Train))
	dev := must.Get(device.CPU{}.Open())
	defer func() {
		must.Do(dev.Close())
	}()
	rng := rand.New(rand.NewPCG(1, 2))
	lenet := must.Get(eval.Classifier{Kind: eval.LeNet, Epochs: 3}.Fit(t.Context(), dev, digits.Slice(0, 3000), rng))
	defer lenet.Free()
	real, others := digits.Slice(3000, 4000), digits.Slice(4000, 5000)
	noisy, noise, ones := mixed(rng, others, .4), mixed(rng, others, 1), others.Take(others.ByClass()[1])
	reports := make(map[string]*distance.Report)
	for name, m := range map[string]*data.Images{"others": others, "noisy": noisy, "noise": noise, "ones": ones} {
		reports[name] = must.Get(distance.Between(t.Context(), lenet, m, real))
		t.Logf("%s: %+v", name, *reports[name])
	}
	good := reports["others"]
	if !strings.HasPrefix(good.Features, "LeNet-") {
		t.Errorf("features %q", good.Features)
	}
	if !(good.Frechet < reports["noisy"].Frechet && reports["noisy"].Frechet < reports["noise"].Frechet) {
		t.Error("Fréchet distances are out of order")
	}
	// Two draws of one population, and a conservative error: four of them are passed once in 10,000.
	if k := good.KID; k.Value > 4*k.StdError || k.Value < -4*k.StdError ||
		reports["noisy"].KID.Value < 4*reports["noisy"].KID.StdError {
		t.Errorf("KID of digits %v, of noisy ones %v", k, reports["noisy"].KID)
	}
	c, noiseC, onesC := good.Coverage, reports["noise"].Coverage, reports["ones"].Coverage
	if min(c.Precision, c.Recall, c.Density, c.Coverage) < .7 || noiseC.Recall > .05 || noiseC.Coverage > .1 ||
		onesC.Precision < .7 || onesC.Recall > .5 || onesC.Coverage > .2 {
		t.Errorf("coverage: %+v, of noise %+v, of ones %+v", c, noiseC, onesC)
	}
}

// mixed is images of which a part is uniform noise.
func mixed(rng *rand.Rand, m *data.Images, part float32) *data.Images {
	out := m.Clone()
	for i, v := range out.Pixels() {
		out.Pixels()[i] = (1-part)*v + part*rng.Float32()
	}
	return out
}
