// Command sweep computes the cells of sweep.yaml, one a core: go run ./sweep.
// With coupling sweep sweep/main.go it does so under a bar, or on a cluster.
package main

import (
	_ "embed"
	"log"

	"coupling/lab/cmd/coupling/template/bias"
	"coupling/lab/store"
	"coupling/lab/sweepfile"
)

//go:embed sweep.yaml
var design []byte

func main() {
	own := bias.Bias.Decoder()
	sweep, err := sweepfile.Parse("sweep.yaml", design, []*store.Decoder{own})
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := sweep.All()
	if err != nil {
		log.Fatal(err)
	}
	sweepfile.Main(jobs, own)
}
