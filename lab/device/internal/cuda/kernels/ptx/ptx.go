// Package ptx is the compiled kernels, one compressed file a module, and SOURCES, the checksum of what they were made
// from. Written by go generate in package cuda.
package ptx

import "embed"

// Files is NAME.ptx.gz for each module, and SOURCES.
//
//go:embed *.ptx.gz SOURCES
var Files embed.FS
