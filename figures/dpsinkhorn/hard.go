package dpsinkhorn

import (
	"fmt"
	"slices"
	"strings"

	"coupling/data"
	"coupling/figures/internal/kit"
	"coupling/figures/style"
	"coupling/lab"
)

// Hard is Frontier at the smallest ε, and in colour.
func Hard() lab.Study[Params, Out] {
	s := Frontier()
	s.Name, s.Title = "dpsinkhorn/hard", "What private images are worth at ε = 0.3, and in colour"
	s.Shows = "What dpsinkhorn/frontier leaves out at full: accuracy on real test images of judges that were trained " +
		"on synthetic images alone, where ε is 0.3, and of CIFAR-10, beside goals and published numbers."
	s.Sizes = kit.ByPreset("MNIST at ε = 0.3; 1500 images, 300 synthetic ones",
		"MNIST at ε = 0.3 and CIFAR-10 at 1; 3000 synthetic images, CNNs of a quarter of the width; one training each",
		"MNIST and Fashion-MNIST at ε = 0.3, CIFAR-10 at 10 and 1; 10,000 images each by coupling private and "+
			"by the judges of coupling judge; three trainings each, of CIFAR-10 one without noise and one on real "+
			"images",
		"the same, and CIFAR-10 at 0.3; 60,000 synthetic images each, and real ones of CIFAR-10")
	s.Grid, s.Draw, s.Claims = hardGrid, drawHard, claimHard
	return s
}

// drawHard is drawFrontier whose badge names all data sets.
func drawHard(v view) (lab.Exhibit, error) {
	e, err := drawFrontier(v)
	if err != nil {
		return e, err
	}
	var names []string
	for _, c := range v.Cells {
		if !slices.Contains(names, c.Value.Name) {
			names = append(names, c.Value.Name)
		}
	}
	figure := e.Pictures[0].Drawing.(style.Figure)
	figure.Badge = v.Badge(fmt.Sprintf("%d synthetic images of each of %s", v.Cells[0].Params.Synthetic,
		strings.Join(names, ", ")))
	e.Pictures[0].Drawing = figure
	return e, nil
}

// hardGrid is the rows of Frontier in colour and at the smallest ε.
func hardGrid(set lab.Setting) (out []Params) {
	least := frontierEps[len(frontierEps)-1]
	if set.Preset != lab.Full {
		return slices.DeleteFunc(frontierGrid(set), func(p Params) bool {
			return p.Colour == "" && (p.Method.Epsilon != least || p.Method.isReference())
		})
	}
	for _, p := range frontierGrid(set) { // has neither
		if p.Method.Epsilon == 1 {
			p.Method.Epsilon = least
			out = append(out, p)
		}
	}
	for _, p := range frontierGrid(set) {
		if p.Colour, p.Data = cifarClasses, data.Choose("cifar10"); !p.Fashion {
			out = append(out, p)
		}
	}
	real := out[len(out)-1]
	real.Method, real.Repeat = Method{Name: realData}, 0
	return append(out, real)
}

// claimHard is claimFrontier without its last claim, which compares digits at two ε; and real images teach more.
func claimHard(v view) (out []lab.Claim, err error) {
	out, err = claimFrontier(v)
	out = out[:len(out)-1]
	runs := repeats(v.Cells)
	for _, real := range runs {
		for _, run := range runs {
			p := run[0].Params
			if !real[0].Params.Method.isReal() || p.Method.isReference() || p.Colour == "" {
				continue
			}
			t, _ := taskOf(p)
			made, _ := meanDeviation(run)
			out = append(out, kit.AtLeast(fmt.Sprintf("%s, ε = %g: CNN of real images, less that of synthetic ones, "+
				"in standard errors", t.name, p.Method.Epsilon), "samples are not training images",
				t.aboveBy(real, made.CNN), 3, "three standard errors of the test images: chance does this once in 700",
				copies))
		}
	}
	return out, err
}
