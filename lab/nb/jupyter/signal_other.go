//go:build !unix

package jupyter

import (
	"os"
	"syscall"
)

// terminate ends Jupyter.
var terminate = os.Kill

func apart() *syscall.SysProcAttr { return nil }
