// Command figure draws the figure and says whether its claim holds: go run ./figure -preset full.
package main

import (
	"coupling/lab/cmd/coupling/template/bias"
	"coupling/lab/gallery"
)

func main() { gallery.Main(bias.Study().Figure()) }
