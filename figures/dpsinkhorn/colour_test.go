package dpsinkhorn

import (
	"testing"

	"coupling/data"
	"coupling/lab/must"
)

// What is shown has the first class on the left and the second on the right, each picture once.
func TestInTurn(t *testing.T) {
	m := must.Get(data.New(2*colourShown+6, 1, 1, 1))
	m.Labels = make([]int, m.Len())
	for i := range m.Labels {
		m.Labels[i], m.Row(i)[0] = i%2, float32(i)
	}
	shown, seen := inTurn(m), map[float32]bool{}
	if shown.Len() != 2*colourShown {
		t.Fatalf("%d pictures", shown.Len())
	}
	for i, l := range shown.Labels {
		if want := i / colourShown; l != want {
			t.Errorf("place %d has class %d", i, l)
		}
		seen[shown.Row(i)[0]] = true
	}
	if len(seen) != shown.Len() {
		t.Errorf("%d different pictures of %d", len(seen), shown.Len())
	}
}

// Four of CIFAR-10's classes drive, sail or fly; the original labels stay as they are.
func TestVehicles(t *testing.T) {
	m := must.Get(data.New(10, 3, 32, 32))
	m.Classes = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}
	m.Labels = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	two := vehicles(m)
	for i, want := range []int{1, 1, 0, 0, 0, 0, 0, 0, 1, 1} {
		if two.Labels[i] != want || m.Labels[i] != i {
			t.Errorf("%s: %d, and %d before", m.Classes[i], two.Labels[i], m.Labels[i])
		}
	}
	if share := larger(two); share != .6 {
		t.Errorf("the larger class has a share of %g", share)
	}
}
