// Package release is what every mechanism does at the moment when something private becomes public: draw its batch, write
// to the ledger what it spends, and add noise on a grid. Run is the one loop of all private trainings.
//
//	key, err := release.NewKey()                                               // one for each run, from the operating system's generator
//	run := release.Run{Key: key, Releases: steps, Dir: dir, Settings: settings, Records: write}
//	err = run.Open()                                                           // the ledger: of this run, and no other process has it open
//	defer run.Close()
//	err = run.Loop(ctx, release.Loop{Steps: steps, Step: func(k int) error {
//		batch, err := release.Poisson(key.Source("batch", k), records, rate)   // each record on its own, to 2^-64
//		…
//		noisy, err := run.Release("gradient", k, sum, sigma, sensitivity)      // the ledger first, then the Gaussian mechanism
//		…
//	}, State: &checkpoint, Done: &checkpoint.Step})
//
// A run that is killed and goes on plays some steps again. Noise is a function of the key and of the values that it hides,
// so what is played again is the same release to the last bit, and costs nothing; the ledger refuses what is not. So a run whose
// releases are the same bits each time needs no checkpoint at all.
//
// Events of mechanisms that release through this package lower their noise multiplier by GridMargin.
package release
