// Package release is what every mechanism does at the moment when something private becomes public: draw its batch, write
// to the ledger that it spends, and add noise on a grid.
//
//	key, err := release.NewKey()                                            // one for each run: the operating system's generator
//	ledger, err := release.OpenLedger(path, run)                            // of this run, and no other process has it open
//	err = ledger.Covers(checkpoint, steps)                                  // else more was spent than the event says
//	batch, err := release.Poisson(key.Source("batch", step), images, rate)  // each record on its own, to 2^-64
//	mark := key.Mark("gradient", step, sum, sigma)                          // a code of what is about to be released
//	err = ledger.Spend(step, mark)                                          // synced, before there is any noise
//	noisy, err := key.Noisy(mark, sum, sigma, sensitivity)                  // the Gaussian mechanism
//
// A run that is killed and goes on plays some steps again. Noise is a function of the key and of the values that it hides,
// so that what is played again is the same release to the last bit, and costs nothing; the ledger refuses what is not.
//
// Events of mechanisms that release through this package lower their noise multiplier by GridMargin.
package release
