package synth

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"coupling/dp"
)

// Statement says what a synthetic data set reveals of the private one. It is published with the
// data set.
type Statement struct {
	Mechanism  string   `json:"mechanism"`
	Event      string   `json:"event"` // of the count and of the training; their ε are added
	Unit       string   `json:"unit"`
	Epsilon    float64  `json:"epsilon"`
	Delta      float64  `json:"delta"`
	Kind       string   `json:"kind"` // exact or upper bound, for the event
	Accountant string   `json:"accountant"`
	Noise      string   `json:"noise"`
	Private    bool     `json:"private"` // false where others can compute the noise
	Records    int      `json:"records"` // with noise
	Classes    []string `json:"classes"`
	Shape      []int    `json:"shape"` // channels, height, width
	Synthetic  int      `json:"synthetic"`
	Settings   string   `json:"settings"`

	Protected    []string `json:"protected"`
	NotProtected []string `json:"not_protected"`
}

// state returns the statement for so many synthetic images. seeded says that noise comes from a seed.
func state(m Method, p Public, spent spending, synthetic int, seeded bool) Statement {
	mechanism, settings := m.Describe()
	g := spent.training
	s := Statement{
		Mechanism: mechanism,
		Event: fmt.Sprintf(
			"%v for the number of images, and, as its noise was chosen by that, by the sum of their ε: %v",
			dp.DiscreteLaplace{Scale: 1 / spent.count, Sensitivity: 1}, spent.event),
		Unit:       g.Relation.Change("labelled image") + ", the image and its label (" + g.Relation.String() + ")",
		Epsilon:    g.Epsilon + spent.count,
		Delta:      spent.delta,
		Kind:       dp.UpperBound.String(),
		Accountant: fmt.Sprintf("%s, and ε = %g for the number of images", g.Accountant, spent.count),
		Noise: "discrete Gaussian on a grid, and discrete Laplace on the number of images; exact samplers, " +
			"bits of a key from the operating system's cryptographic generator; the key is not kept",
		Private:   !seeded,
		Records:   p.Records,
		Classes:   p.Classes,
		Shape:     []int{p.Channels, p.Height, p.Width},
		Synthetic: synthetic,
		Settings:  settings,
		Protected: []string{
			"whether any one image is among the private ones, at this ε and δ, from anyone who sees this folder " +
				"and all releases of the training",
			"what is on it and its label, from anyone who knows that it is there: one removed and another put in " +
				"its place, at up to twice ε and (1 + exp ε) times δ",
			"the same after any further use of the synthetic images: it needs no more budget",
		},
		NotProtected: []string{
			"what many images have in common: classes, styles, how often a class occurs roughly",
			"a person with several images: for k images of one person ε is up to k times as large, at a larger δ",
			"that there is an image, the size of private images, whether all are grey, and the names of classes, " +
				"also of empty ones: they count as public",
			"what other runs on the same images reveal, this command run again among them, finished or not: their " +
				"ε add up",
			"what was learnt when settings were chosen by looking at results on these images",
			"the running time, and this machine while it runs",
		},
	}
	if seeded {
		s.Noise = "from a seed: anyone who knows it can remove the noise"
		s.Protected = nil
		s.NotProtected = append([]string{"anything: noise from a seed is for experiments on public images"},
			s.NotProtected...)
	}
	return s
}

// String returns the statement in a line.
func (s Statement) String() string {
	text := fmt.Sprintf("%d synthetic images of %d classes", s.Synthetic, len(s.Classes))
	if !s.Private {
		return text + ", NOT PRIVATE: the noise comes from a seed"
	}
	return fmt.Sprintf("%s, ε = %s at δ = %g (%s, by %s)", text, dp.FormatUp(s.Epsilon, 6), s.Delta, s.Kind,
		s.Accountant)
}

//go:embed statement.txt.tmpl
var statementSource string

var statement = template.Must(template.New("privacy.txt").Funcs(template.FuncMap{
	"join": strings.Join,
	"up":   dp.FormatUp,
}).Parse(statementSource))

// Text returns the statement as text: ε is rounded upwards, δ is not rounded.
func (s Statement) Text() string {
	var b strings.Builder
	if err := statement.Execute(&b, s); err != nil {
		panic(err) // its fields are those of the template
	}
	return b.String()
}
