// Command generate writes the scripts of all figures; it is run in figures/.
package main

import (
	"fmt"
	"os"

	"coupling/figures/scripts"
)

func main() {
	if err := scripts.Write("scripts"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
