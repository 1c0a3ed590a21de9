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
// many cells and yields each as it lands; a run that was killed resumes because
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
// Two processes that want the same cell do not both compute it: a lock file
// with a heartbeat says who does, and a dead owner is replaced.
//
// # File systems that fail
//
// A full disk fails the cells that meet it, with an error that names the file;
// what is finished stays whole, and the next run goes on. Every rename is looked
// after: one whose answer was lost counts as done, one that was answered and not
// done is tried again and then refused. A disk so slow that heartbeats come late
// costs work that is done twice, never a result.
//
// # Large stores
//
// A finished cell is one inode (more with artifacts: a directory and its files)
// and half a kilobyte, for which most file systems take a block of 4 KiB.
// Measured with cells that cost nothing (scale_test.go), on two virtual cores with
// ten times that much other work on them, so that half a core was left:
//
//	                            100,000 cells
//	computed and stored         340 a second at first, 170 at the end; 2.2 ms of CPU each
//	listed (Records)            9 s, of which 5 s CPU
//	filtered by a parameter     11 s
//	resumed (Store.Missing)     12 s; 0.8 s to see which are there (Glance)
//	followed (Scanner)          7 s the first look, 2 ms one at which nothing is new
//
// What limits a sweep of trivial cells is the file system: two syncs, some thirty
// calls, and four listings of the directory that holds 1/256 of an experiment. Those
// grow with the store. With so many files beside it a cell costs
//
//	files in the directory      0     400     4,000   40,000
//	cells of the experiment     0     100 k   1 M     10 M
//	time of one (ms)            8     11      69      530
//
// (one process, the same busy machine). So at a million cells of one experiment the
// store works, with 1 million inodes and 4 GB of blocks for 0.5 GB of text, at some 15
// cells a second and process; a look at all takes two minutes. It breaks where
// people's quotas do, which on clusters are often a million files; where the inodes of
// the file system do (one in 16 KiB on ext4, so 16 million on 250 GB); and where
// cells are shorter than their listing, from about a million on.
//
// The remedy, which is not built: packed shards. A directory whose cells nobody
// works on is written as one file of sorted records with an index of their keys,
// renamed into place, and only then are its records removed; a look-up reads the
// index where the record is absent. A million cells are then 256 files of 2 MB, a
// listing is 256 sequential reads, and locks lie in directories that hold only them.
// That in turn breaks at some 10 million cells, when one new cell has a pack of 20 MB
// written again, and asks for a database. Until then: several
// experiments or stores, or cells that do more each.
package lab
