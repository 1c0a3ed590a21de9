// Package draws fixes the seed from which pgregory.net/rapid draws, for the tests that import it: what a test says
// depends on the code alone. The flags -rapid.seed=0 (another seed each time) and -rapid.checks=10000 search further.
package draws

import (
	"flag"

	_ "pgregory.net/rapid" // its flags come first
)

var _ = flag.Set("rapid.seed", "1")
