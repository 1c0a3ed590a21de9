// Package lab turns numerical experiments into results that can be asked for.
//
// A result is a pure function of (experiment, version, seed, parameters). Ask
// for it with [Do], and the lab recalls it from a [Store] or computes it, once:
//
//	var Bias = lab.Experiment[Params, Out]{Name: "tour/bias", Version: 1, Run: run}
//
//	store, err := lab.OpenStore("")
//	r, err := lab.Do(ctx, store, Bias, seed, Params{N: 100, Eps: 0.1})
//
// Everything else is that look-up seen from another side. A [Sweep] asks for
// many cells and yields them in order; a run that was killed resumes because
// the finished cells are recalled; a [Figure] draws from cells and checks its
// [Claim]s against them; an [Executor] computes the missing ones somewhere.
//
// # What is in the key
//
// [Experiment.Key] hashes the experiment's name and version, the seed, the
// parameters as JSON, and the shape of the result type. Two requests with the
// same key are the same request. What changes the number belongs into the
// parameters (precision, the device's kind where it matters); what does not
// (workers, paths, verbosity) stays out. Raise Version when the code changes
// the meaning of a result; [Store.GC] removes the cells of older versions.
//
// # Code
//
// A digest of the code that Run reaches stands in each record, beside the key:
// declarations without comments and layout, the versions of other modules, and
// the instruction set if assembly is among it. A cell that other code computed is
// computed again if the experiment is declared in a notebook's cell or a main
// package, where people edit. Elsewhere it is recalled and said ([Result.OtherCode],
// [Event], [Store.Survey]), since much that a digest sees changes no number, and a
// cell may have cost a day; [Store.SameCode] computes it again. A program knows
// the digests if make built it, or if its source is at hand and not newer than it.
//
// # Bounds
//
// Parameters may have bounds, as tags or by [Checker]; what is outside is neither
// computed nor recalled.
//
// # Randomness
//
// [Cell.Rand] derives a named stream from the seed alone, so the cells of a
// sweep share their data (common random numbers), and a new axis or a new
// stream changes no old result.
//
// # Many processes, one store
//
// A store is a plain directory, safe to share between processes and over a
// network file system. A finished cell is one JSON file that appears whole by
// rename, with its artifacts (NPY files, checkpoints) in a directory beside it.
// Two processes that want the same cell do not both compute it: the one that has
// locked it (flock) does. The other takes the next cell that is free, and waits
// only when none is left. A file system without locks, or with locks that hold
// within one machine only, costs work that is done twice, never a result.
//
// # Disks that fail
//
// A full disk fails the cells that meet it, with an error that names the file;
// what is finished stays whole, and the next run goes on.
//
// # Large stores
//
// A finished cell is one inode (more with artifacts: a directory and its files)
// and half a kilobyte, for which most file systems take a block of 4 KiB.
// What limits a sweep of trivial cells is the file system: two syncs and some
// twenty calls a cell; scale_test.go measures it. From about a million cells of
// one experiment on, use several experiments or stores, or cells that do more each.
package lab
