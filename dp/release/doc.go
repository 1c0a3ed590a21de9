// Package release has the steps of every private release: draw the batch, write the spent step to
// the ledger, and add noise on a grid. Run is the one loop of all private trainings.
//
//	key := release.NewKey() // one for each run, from the operating system's generator
//	run := release.Run{Key: key, Releases: steps, Dir: dir, Settings: settings, Records: write}
//	err = run.Open() // checks that the ledger is this run's, and locks it
//	defer run.Close()
//	err = run.Loop(ctx, release.Loop{Steps: steps, Step: func(k int) error {
//		batch, err := release.Poisson(key.Source("batch", k), records, rate) // each record independently, to 2^-64
//		…
//		noisy, err := run.Release("gradient", k, sum, sigma, sensitivity) // Gaussian; listed before it is returned
//		…
//	}, State: &checkpoint, Done: &checkpoint.Step})
//
// A run that was killed and resumes repeats some steps. Noise is a function of the key and of the
// values that it hides, so a repeated release is the same to the last bit and costs nothing; the
// ledger refuses one that differs. So a run whose releases are the same bits each time needs no
// checkpoint at all.
//
// A release may compute anything that earlier ones suggest, and a run may end early. Noise multipliers
// and sampling rates must be fixed before the first release, as the event has them: each step then
// has the same dominating pair whatever came before, and such pairs compose. Noise chosen by earlier
// releases can exceed an (ε, δ) that every fixed sequence meets; package query has a filter for it.
//
// Events of mechanisms that release through this package lower their noise multiplier by GridMargin.
package release
