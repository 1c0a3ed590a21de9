package pair

import "testing"

// What weighs enough stays, and something always stays.
func TestDrop(t *testing.T) {
	all := []Component{{LogWeight: -100}, {LogWeight: -1, Mean: 1}, {LogWeight: -0.5, Mean: 2}}
	if got := heavy(all, -50); len(got) != 2 || got[0].Mean != 1 {
		t.Errorf("left: %v", got)
	}
	if got := heavy(all, 0); len(got) != 3 {
		t.Errorf("left: %v", got)
	}
}
