package release_test

import (
	"fmt"
	"io"
	"strings"

	"coupling/dp/release"
)

// One noisy sum of a batch; a second one is not accounted for.
func ExampleRun_Release() {
	records := []float64{1, 0, 1, 1}
	run := release.Run{
		Key: release.SeededKey(1), Releases: 1, // NewKey() for real data
		Records: func(w io.Writer) error { _, err := io.Copy(w, strings.NewReader(fmt.Sprint(records))); return err },
	}
	if err := run.Open(); err != nil {
		fmt.Println(err)
		return
	}
	batch, err := release.Poisson(run.Key.Source("batch", 0), len(records), .5)
	sum := 0.0
	for _, i := range batch {
		sum += records[i]
	}
	noisy, err2 := run.Release("sum", 0, []float64{sum}, 2, 1)
	fmt.Println(len(noisy), err, err2)
	_, err = run.Release("sum", 1, []float64{sum}, 2, 1)
	fmt.Println(err)
	// Output:
	// 1 <nil> <nil>
	// release: one more than the 1 releases that are accounted for: ledger of another run
}
