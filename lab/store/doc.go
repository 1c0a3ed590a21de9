// Package store keeps the results of experiments: what tools need, where package lab has what a
// researcher types.
//
// A [Store] is a directory of finished cells. A [Record] is one of them, a [Job] one that can be
// computed, a [Decoder] an experiment that makes jobs, and an [Executor] computes them, here
// ([Local]) or elsewhere. A [Scanner] follows a store, [Diff] compares cells, and an [Event] tells a
// display what happens to them.
//
// # Instruction sets
//
// Kernels sum in another order on AVX-512, AVX2 and plain Go. Results are the same bits on machines
// with the same set; between sets they differ by rounding, and by more where a solve amplifies it.
// Equal bits everywhere would cost speed (BenchmarkRows of package lab/device/cpu), so the set is
// part of the digest of the code, not of the key: in the key, every cell that a cluster computed
// would be missing on a laptop with another set, although the same claims hold on both. Recalled
// cells of another set count as of other code, each manifest names its set, [Store.SameCode] and
// --recall=same compute them again, and $COUPLING_CPU gives all machines one set.
//
// # Many processes, one store
//
// A store is a plain directory, safe to share between processes and over a network file system. A
// finished cell is one JSON file that appears whole by rename, with its artifacts (NPY files,
// checkpoints) in a directory beside it. If two processes want the same cell, the one that locks it
// first (flock) computes it. The other takes the next free cell, and waits only if none is left. On
// a file system without locks, or with locks within one machine only, a cell may be computed twice,
// but no result is lost. On a full disk, cells fail with an error that names the file; finished cells
// stay whole, and the next run goes on.
//
// # Large stores
//
// A finished cell is one inode (more with artifacts: a directory and its files) and half a
// kilobyte, for which most file systems take a block of 4 KiB. The file system limits a sweep of
// trivial cells: two syncs and some twenty calls for each; scale_test.go measures it. For more than
// about a million cells of one experiment, use several experiments or stores, or larger cells.
package store
