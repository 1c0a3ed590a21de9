package dpsinkhorn

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coupling/data"
	"coupling/figures/figtest"
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/must"
	"coupling/score/eval/distance"
	"coupling/score/eval/inception"
)

// With a file of weights distances are in the network's features and are called what they are,
// cells of other features are other cells, and what a narrow network says is asked of no printed
// FID.
func TestInception(t *testing.T) {
	plain := utilityGrid(figtest.Setting)[0]
	path := filepath.Join(t.TempDir(), "inception.safetensors")
	must.Do(os.WriteFile(path, inception.Random(16), 0o600))
	t.Setenv(inception.Variable, path)
	named := utilityGrid(figtest.Setting)[0]
	a := must.Get(imagesOf.Key(1, plain))
	if b, err := imagesOf.Key(1, named); err != nil || a == b {
		t.Errorf("cells of other features have the key %s (%v)", b, err)
	}
	for _, c := range []struct {
		params    Params
		has, lack string
	}{{plain, "FD-LeNet", "FD-Inception/16"}, {named, "FD-Inception/16", "FD-LeNet"}} {
		header := utilityTable([]cell{{Params: c.params}}, false).Header
		if !slices.Contains(header, c.has) || slices.Contains(header, c.lack) || slices.Contains(header, "FID") {
			t.Errorf("%v must have %s", header, c.has)
		}
	}
	if len(claimFID(lab.Paper, named.Judge, "", "", 1, 1, guessing)) > 0 {
		t.Error("a distance in a narrow network's features is asked as a FID")
	}
	train, test := Params{Most: 16, Data: data.Sample}.images(t.Context())
	dev := must.Get(device.CPU{}.Open())
	defer dev.Close()
	var got Judgement
	named.Judge.distances(t.Context(), dev, &got, train, train, test.Slice(0, 8))
	net := must.Get(inception.OpenChosen(dev, named.Judge.Inception))
	defer net.Free()
	want := must.Get(distance.Between(t.Context(), net, train, test.Slice(0, 8)))
	if got.FD != want.Frechet || got.KID != want.KID.Value || !(got.FD > 0) {
		t.Errorf("%g and %g, want %g and %g", got.FD, got.KID, want.Frechet, want.KID.Value)
	}
}
