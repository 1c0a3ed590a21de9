//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package train

import "os"

// lock locks nothing here.
func lock(*os.File) bool { return false }
