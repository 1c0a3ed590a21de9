package suggest

import (
	"errors"
	"strings"
	"testing"

	"coupling/dp/synth"
)

// What is expected grows with ε and with images a class, is of the method that runs, and names a better one; pictures
// in colour are compared with such, and of a few pictures nothing is promised.
func TestExpectation(t *testing.T) {
	of := func(c Request, eps float64, n, channels int) string {
		c.Eps = eps
		return c.Expectation(synth.Public{
			Records:  n,
			Classes:  []string{"a", "b"},
			Channels: channels,
			Height:   32,
			Width:    32,
		})
	}
	best, fast := Request{Name: Auto}, Request{Name: Auto, Fast: true}
	for _, c := range []struct{ got, want string }{
		{of(best, 1, 12_000, 1), "refined makes of 6000 images a class at ε = 1"},
		{of(best, 1, 12_000, 1), "read about 96 % of MNIST"},
		{of(best, 10, 1200, 1), "about 96 % of MNIST and 81 %"}, {of(best, .3, 12_000, 1), "refined makes of 6000"},
		{of(best, .2, 12_000, 1), "less than 90 % of MNIST"}, {of(best, 5, 3, 1), "expect noise"},
		{of(fast, 1, 12_000, 1), "95 % of MNIST and 81 % of Fashion-MNIST; with method refined, in minutes, 96 %"},
		{of(best, .3, 2000, 3), "not measured; of what semi-dual makes classifiers read about 20 %"},
		{of(fast, 1, 2000, 3), "about 27 % of CIFAR-10"}, {of(best, 1, 2000, 3), "about 35 % of CIFAR-10"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: want %s", c.got, c.want)
		}
	}
}

// A name that no method has is refused, and stands for none.
func TestUnknownMethod(t *testing.T) {
	p := synth.Public{Records: 100, Classes: []string{"a"}, Channels: 1, Height: 28, Width: 28}
	m, err := Request{Name: "semidual", Eps: 1}.Method(p)
	if m != nil || !errors.Is(err, synth.ErrParameter) || !strings.Contains(err.Error(), `"semidual": want auto`) {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := (Request{Name: SemiDual, Eps: 1}).Method(p); err != nil {
		t.Error(err)
	}
}
