// Package ptx is the compiled kernels, two compressed files a module, and SOURCES, the checksum of
// the sources that they were made from. Written by go generate in package cuda.
package ptx

import "embed"

// Files is NAME.ptx.gz and NAME.cubin.gz (the same assembled for sm_90) for each module, and SOURCES.
//
//go:embed *.ptx.gz *.cubin.gz SOURCES
var Files embed.FS
