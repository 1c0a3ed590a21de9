package gallery

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/internal/interrupt"
	"coupling/lab/store"
)

// Main is a complete program that makes one figure: it reads the flags -preset, -seed and -out,
// computes the cells that the store lacks, writes the pictures, tables and summary.json, and prints the claims.
// An interrupt ends it; the next run resumes.
func Main(fig lab.Figure) {
	log.SetFlags(0)
	preset := flag.String("preset", string(lab.Quick), "smoke, quick, full or paper")
	seed := flag.Uint64("seed", 1, "seed of all random streams")
	out := flag.String("out", "out", "folder to write to")
	flag.Parse()
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt)
	defer stop()
	p, err := lab.ParsePreset(*preset)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, os.Stdout, fig, lab.Setting{Preset: p, Seed: *seed, Device: "cpu"}, *out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, fig lab.Figure, set lab.Setting, dir string) (err error) {
	defer lab.End(&err)
	st := lab.Must(lab.OpenStore(""))
	var missing []store.Job
	n := st.Survey(slices.Values(fig.Jobs(set)), func(j store.Job) { missing = append(missing, j) })
	if n.OtherCode > 0 {
		fmt.Fprintf(w,
			"%d cells were computed by other code, or by code that is not known; COUPLING_RECALL=same computes "+
				"them again\n", n.OtherCode)
	}
	var errs []error
	for job, err := range (store.Local{}).Run(ctx, st, missing) {
		errs = append(errs, err)
		if err == nil {
			fmt.Fprintln(w, "computed", job.Record().Experiment, job.Record().Key.Short())
		}
	}
	lab.Check(errors.Join(errs...))
	page := lab.Must(Write(st, fig, set, dir, []string{"png", "pdf"}))
	page.Print(w, dir)
	_, err = writeSummary(dir, Summarise([]Page{page}), func(*durable.Folder) error { return nil })
	return err
}
