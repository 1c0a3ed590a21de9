// Package fetch downloads files whose checksums are known. It knows HTTP and
// file systems, not data sets; which files there are is the matter of package data.
//
// # A worked example
//
// The training images of MNIST are 47,040,016 bytes with a known SHA-256, and
// several servers hold them packed by gzip. [Client.Get] asks the first server.
// The bytes go to train-images-idx3-ubyte.gz.part beside the final place; the
// connection breaks at 60 %, and the rest is asked for with a Range header. The
// unpacked content hashes to the known sum, so the file is synced and renamed to
// its final name. Had the sum been wrong, the part would have been thrown away
// and the next server asked; had every server failed, the error would list each
// with its reason.
//
// # Conventions
//
//   - The final name only ever holds a complete file with the right checksum.
//   - A part left by a cancelled or killed process is resumed, from the server
//     it came from, if that server still has the same version (If-Range with the
//     ETag or date). When a resumed file has the wrong checksum it is fetched
//     afresh once, since the part may have been damaged.
//   - Two processes or goroutines that want the same file do not both download
//     it: the second waits for the lock and finds the file there. The lock is the
//     operating system's, so a killed process leaves nothing stale.
//   - Nothing that a server says is trusted: sizes are bounded by File.MaxBytes
//     and nothing is allocated from a header.
//   - The package prints nothing; progress goes to a callback.
//
// Source: RFC 9110, sections 13.1.5 (If-Range) and 14 (range requests).
package fetch
