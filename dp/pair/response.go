package pair

// RandomizedResponse returns the pair of a bit that is reported truthfully with probability truth
// in [1/2, 1] and flipped otherwise, where the true bit is exchanged with probability flipP under
// P, and with probability flipQ under Q: P = Bernoulli(f(flipP)), Q = Bernoulli(f(flipQ)), f(w) =
// (1−w)·truth + w·(1−truth) (SSKG M.2).
func RandomizedResponse(truth, flipP, flipQ float64) (*Discrete, error) {
	if err := checkResponse(truth, flipP, flipQ); err != nil {
		return nil, err
	}
	gain := 2*truth - 1
	p1, p0 := flipped(truth, flipP)
	q1, q0 := flipped(truth, flipQ)
	diff := (flipQ - flipP) * gain
	return discrete([]point{pointOf(p1, q1, diff), pointOf(p0, q0, -diff)}, 0), nil
}

// ResponseEither returns the pair whose profile is, at every ε, the larger of those of (f(flipP),
// truth) and (truth, f(flipQ)): it dominates a mechanism that may be either of the two at each
// step, as with records both removed and inserted.
func ResponseEither(truth, flipP, flipQ float64) (*Discrete, error) {
	if err := checkResponse(truth, flipP, flipQ); err != nil {
		return nil, err
	}
	// With u = e^ε − 1 and g = 2·truth − 1 both profiles are upper envelopes of lines:
	// max(0, flipP·g − u(1−truth), −u) and max(0, flipQ·g − u·f(flipQ), −u). The envelope of all of them has an atom
	// at each corner u: Q is the jump of the slope, P = (1+u)Q.
	g, lie := 2*truth-1, 1-truth
	f, rest := flipped(truth, flipQ)
	if flipQ*g*lie >= flipP*g*f { // the steeper line reaches 0 last: the other is below it
		return RandomizedResponse(truth, 0, flipQ)
	}
	cross := (flipQ - flipP) / (1 - flipQ) // where the second line overtakes the first
	if flipQ == 1 || cross*truth <= -flipP*g {
		return RandomizedResponse(truth, flipP, 0)
	}
	at := func(u, q float64) point { return pointOf(q*(1+u), q, q*u) }
	top := pointOf(lie+flipP*g, lie, flipP*g) // at u = flipP·g/lie, infinite for truth = 1
	low := pointOf(rest-flipQ*g, rest, -flipQ*g)
	return discrete([]point{top, at(cross, g*(1-flipQ)), low}, 0), nil
}

func checkResponse(truth, flipP, flipQ float64) error {
	if !(truth >= 0.5 && truth <= 1) {
		return bad("truth = %v: must be in [0.5, 1]", truth)
	}
	if !(flipP >= 0 && flipP <= 1) || !(flipQ >= 0 && flipQ <= 1) {
		return bad("flip probabilities %v, %v: must be in [0, 1]", flipP, flipQ)
	}
	return nil
}

// flipped returns the probabilities of the bit and of its opposite when it is exchanged with
// probability w before being told.
func flipped(truth, w float64) (one, zero float64) {
	gain := 2*truth - 1
	return truth - w*gain, (1 - truth) + w*gain
}
