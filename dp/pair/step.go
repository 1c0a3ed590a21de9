package pair

// Step is a pair that is composed with itself Times times, and with the other steps of a list.
type Step struct {
	Pair  Pair
	Times int
}

// Interval is what an accountant knows about a number: Lower ≤ value ≤ Upper. An accountant that knows no lower bound
// leaves Lower 0.
type Interval struct{ Lower, Upper float64 }
