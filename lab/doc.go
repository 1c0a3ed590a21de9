// Package lab recalls or computes the results of numerical experiments.
//
// A result is a pure function of (experiment, its code, seed, parameters). [Do] recalls it from a
// store, or computes it once and stores it:
//
//	var Bias = lab.Experiment[Params, Out]{Name: "tour/bias", Version: 1, Run: run}
//
//	store, err := lab.OpenStore("")
//	r, err := lab.Do(ctx, store, Bias, seed, Params{N: 100, Eps: 0.1})
//
// Everything else builds on that look-up. A [Sweep] asks for many cells and yields them in order; a
// run that was killed resumes because the finished cells are recalled; a [Figure] draws from cells
// and checks its [Claim]s against them; package store computes the missing ones, here or elsewhere.
//
// # What is in the key
//
// [Experiment.Key] hashes the experiment's name and version, the seed, the parameters as JSON, and
// the shape of the result type. Put into the parameters what changes the number (precision, the
// device's kind where it matters), and leave out what does not (workers, paths, verbosity). They may
// have bounds, as tags or by [store.Checker]. Raise Version when the code changes the meaning of a
// result; [store.Store.GC] removes the cells of older versions.
//
// # Code
//
// Each record holds, beside the key, a digest of the code that Run reaches: its declarations
// without comments and layout, the versions of other modules, and the instruction set if assembly
// is among them; [Experiment] lists what no digest can see. Results of different code stand side by
// side, so an edit destroys nothing, and an undo or another branch recalls what it had computed.
//
// A cell that only other code has computed is computed if its experiment is declared in a
// notebook's cell, a main package or a module of one's own, where people edit. Otherwise the newest
// result is recalled and reported ([Result.OtherCode], [store.Event]), since many edits change the
// digest but no number, and a cell may have taken a day; with [store.Store.SameCode] it is computed.
// [store.Store.GC] removes old code.
//
// A program knows the digests if make or coupling sweep built it, or, from its source, if go run
// (without flags, on Linux) or a notebook has just built and started it. Otherwise the program as a
// whole is the code: the same as itself alone, so that a sweep resumes, and other than all digests.
// One line on standard error says why.
//
// # Randomness
//
// [Cell.Rand] derives a named stream from the seed alone, so the cells of a sweep share their data
// (common random numbers), and adding an axis or a stream does not change old results.
package lab
