// Package lab recalls or computes the results of numerical experiments.
//
// A result is a pure function of (experiment, version, seed, parameters). [Do] recalls it from a
// [Store], or computes it once and stores it:
//
//	var Bias = lab.Experiment[Params, Out]{Name: "tour/bias", Version: 1, Run: run}
//
//	store, err := lab.OpenStore("")
//	r, err := lab.Do(ctx, store, Bias, seed, Params{N: 100, Eps: 0.1})
//
// Everything else builds on that look-up. A [Sweep] asks for many cells and yields them in order; a
// run that was killed resumes because the finished cells are recalled; a [Figure] draws from cells
// and checks its [Claim]s against them; an [Executor] computes the missing ones, here or elsewhere.
//
// # What is in the key
//
// [Experiment.Key] hashes the experiment's name and version, the seed, the parameters as JSON, and
// the shape of the result type. Requests with equal keys are the same request. Put into the
// parameters what changes the number (precision, the device's kind where it matters), and leave out
// what does not (workers, paths, verbosity). Raise Version when the code changes the meaning of a
// result; [Store.GC] removes the cells of older versions.
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
// result is recalled and reported ([Result.OtherCode], [Event], [Store.Survey]), since many edits
// change the digest but no number, and a cell may have taken a day; with [Store.SameCode] it is
// computed. [Store.GC] removes old code.
//
// A program knows the digests if make or coupling sweep built it, or if its source is where it was
// built, or where it runs, and is what it was built of, which build IDs prove. Otherwise the
// program as a whole is the code: the same as itself alone, so that a sweep resumes, and other than
// all digests. One line on standard error says why.
//
// # Instruction sets
//
// Kernels sum in another order on AVX-512, AVX2 and plain Go. Results are the same bits on machines
// with the same set; between sets they differ by rounding, and by more where a solve amplifies it.
// Equal bits everywhere would cost speed: AVX-512 takes about as long as AVX2 for a dot product,
// but two thirds of its time for a row of exponentials, by instructions that only it has
// (BenchmarkRows of package lab/device/cpu, Dot and RowExpAt, on Zen 4). So each set keeps its own
// bits, and is part of the digest of the code, not of the key. In the key, every cell that a
// cluster computed would be missing on a laptop with another set, although the same claims hold on
// both. The price is that a figure may show cells of several sets, if nobody asks for the same
// code: recalled cells of another set are counted as of other code, each manifest names its set,
// [Store.SameCode] and --recall=same compute them again, and $COUPLING_CPU gives all machines one
// set.
//
// # Bounds
//
// Parameters may have bounds, as tags or by [Checker]; values outside them are neither computed nor
// recalled.
//
// # Randomness
//
// [Cell.Rand] derives a named stream from the seed alone, so the cells of a sweep share their data
// (common random numbers), and adding an axis or a stream does not change old results.
//
// # Many processes, one store
//
// A store is a plain directory, safe to share between processes and over a network file system. A
// finished cell is one JSON file that appears whole by rename, with its artifacts (NPY files,
// checkpoints) in a directory beside it. If two processes want the same cell, the one that locks it
// first (flock) computes it. The other takes the next free cell, and waits only if none is left. On
// a file system without locks, or with locks within one machine only, a cell may be computed twice,
// but no result is lost.
//
// # Disks that fail
//
// On a full disk, cells fail with an error that names the file; finished cells stay whole, and the
// next run goes on.
//
// # Large stores
//
// A finished cell is one inode (more with artifacts: a directory and its files) and half a
// kilobyte, for which most file systems take a block of 4 KiB. The file system limits a sweep of
// trivial cells: two syncs and some twenty calls for each. On two idle cores of an Intel Xeon with
// a disk, 100,000 of them are stored at 1,386 to 1,818 a second and listed in 1.3 s, 2.1 s with
// cold caches; scale_test.go measures it. For more than about a million cells of one experiment,
// use several experiments or stores, or cells that do more work each.
package lab
