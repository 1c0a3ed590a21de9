// Command generate writes NAME.ipynb for each NAME.md in the working directory.
package main

import (
	"fmt"
	"os"

	"coupling/lab/nb/ipynb"
)

func main() {
	if err := ipynb.Generate("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
