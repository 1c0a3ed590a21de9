// Package fetch downloads files whose checksums are known.
//
//   - The final name only ever holds a complete file with the right checksum: bytes
//     go to a temporary file beside it, which is synced, checked and renamed.
//   - Goroutines that want the same file download it once. Processes may download it
//     at the same time; each renames a right file.
//   - Nothing that a server says is trusted: sizes are bounded by File.MaxBytes, and
//     nothing is allocated from a header.
//   - An interrupted download starts again from the beginning: the largest file is
//     170 MB.
//   - The package prints nothing; progress goes to a callback.
package fetch
