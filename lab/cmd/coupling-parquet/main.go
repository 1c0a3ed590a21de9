// Command coupling-parquet writes the cells of a store as a Parquet table:
//
//	coupling-parquet STORE [PREFIX] > cells.parquet
//
// The command "coupling runs export --format parquet" runs it. It is a program of its
// own because its library would be a tenth of coupling.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"coupling/lab"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coupling-parquet:", err)
		os.Exit(1)
	}
}

// run writes the cells that can be read, and returns what was wrong with the others.
func run(args []string, w io.Writer) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("usage: coupling-parquet STORE [PREFIX] > cells.parquet")
	}
	if _, err := os.Stat(args[0]); err != nil { // which OpenStore would make
		return err
	}
	s, err := lab.OpenStore(args[0])
	if err != nil {
		return err
	}
	var rows []lab.Row
	var bad []error
	for r, err := range s.Records(append(args, "")[1]) {
		var row lab.Row
		if err == nil {
			row, err = r.Flatten()
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		rows = append(rows, row)
	}
	return errors.Join(append(bad, writeParquet(w, rows))...)
}
