// Command generate writes NAME.ipynb for each NAME.md in the working directory, and docs/packages.md.
package main

import (
	"errors"
	"fmt"
	"os"

	"coupling/lab/nb/ipynb"
	"coupling/notebooks/internal/packages"
)

func main() {
	list, errList := os.ReadFile("docs/packages.txt")
	page, errPage := packages.Page("..", string(list))
	err := errors.Join(ipynb.Generate("."), errList, errPage)
	if err == nil {
		err = os.WriteFile("docs/packages.md", []byte(page), 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
