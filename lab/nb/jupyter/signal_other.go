//go:build !unix

package jupyter

import "os"

// terminate ends Jupyter.
var terminate = os.Kill
