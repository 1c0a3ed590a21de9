// Command codes prints the digests of the experiments below a folder, for the
// linker: make build writes them into the command.
//
//	go build -ldflags "-X coupling/lab/store.codes=$(go run ./lab/cmd/codes figures)" ./lab/cmd/coupling
package main

import (
	"fmt"
	"os"

	"coupling/lab/store"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "codes: want one folder")
		os.Exit(2)
	}
	table, err := store.EncodeCodes(os.Args[1])
	if err == nil {
		_, err = os.Stdout.WriteString(table)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
