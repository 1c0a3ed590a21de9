package main

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"coupling/data"
	"coupling/lab"
	"coupling/lab/durable"
	"coupling/ot"
	"coupling/score"
	"coupling/score/scones"

	"gonum.org/v1/gonum/mat"
)

type sampleCmd struct {
	X         string   `required:"" placeholder:"FILE|DIR"`
	Y         string   `required:"" placeholder:"FILE|DIR"`
	Of        string   `placeholder:"FILE|DIR"`
	Each      int      `default:"1" min:"1"`
	Lambda    *float64 `min:">0" placeholder:"L"`
	Bandwidth *float64 `min:">0" placeholder:"H"`
	Most      int      `default:"2000" min:"1"`
	Steps     int      `default:"200" min:"1"`
	Every     int      `default:"0" min:"0"`
	Size      int      `default:"32" min:"1"`
	Grey      bool
	Seed      uint64 `default:"1"`
	Out       string `required:"" placeholder:"DIR"`
	JSON      bool
}

// cloud is points, and how they are pictures where they are.
type cloud struct {
	x      *mat.Dense
	images *data.Images // nil: points
}

func (c sampleCmd) read(ctx context.Context, in *inputs, flag, path string) cloud {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return cloud{x: in.points(flag, path)}
	}
	m, err := data.Folder{Dir: path, Size: c.Size, Grey: c.Grey}.Load(ctx)
	lab.Check(usage(prefix("--"+flag, err)))
	in.paths = append(in.paths, path)
	fmt.Fprintf(in.say, "%s: %s\n", flag, m)
	return cloud{m.Mat(), m}
}

func (c sampleCmd) clouds(ctx context.Context, in *inputs) (x, y, of cloud) {
	x, y = c.read(ctx, in, "x", c.X), c.read(ctx, in, "y", c.Y)
	of = x
	if c.Of != "" {
		of = c.read(ctx, in, "of", c.Of)
	}
	lab.Check(usage(c.fits(x, y, of)))
	return x, y, of
}

// mostSampled is how many values samples may have: 8 GiB a matrix, of which a run needs some.
const mostSampled = 1 << 30

// fits checks the points to be sent against those of the sources.
func (c sampleCmd) fits(x, y, of cloud) error {
	if (x.images == nil) != (y.images == nil) || (of.images == nil) != (x.images == nil) {
		return errors.New("--x, --y and --of: give files of points or folders of pictures, not both")
	}
	_, d := x.x.Dims()
	n, e := of.x.Dims()
	if d != e {
		return fmt.Errorf("--of has points of dimension %d, --x of %d", e, d)
	}
	if n*d > mostSampled/c.Each {
		return fmt.Errorf("--each %d of %d points of dimension %d: more than %d values: send parts of them with --of",
			c.Each, n, d, mostSampled)
	}
	return nil
}

// sampled is what --json prints, and summary.json holds.
type sampled struct {
	Status     string  `json:"status"` // of the plan
	Seed       uint64  `json:"seed"`
	Samples    int     `json:"samples"`
	Lambda     float64 `json:"lambda"`
	Bandwidth  float64 `json:"bandwidth"`
	Acceptance float64 `json:"acceptance"`
	PerSecond  float64 `json:"per_second"`
	// Inputs holds the SHA-256 of each file read, by flag, and Files that of each file written, by name.
	Inputs map[string]string `json:"inputs"`
	Files  map[string]string `json:"files"`
}

func (c sampleCmd) Run(a *app) error {
	ctx, stop := interruptible(a)
	defer stop()
	in := a.inputs()
	x, y, of := c.clouds(ctx, in)
	to := openOut(c.Out, in)
	defer to.Close()
	claim(to, c.names(of)...)
	rng := rand.New(rand.NewPCG(c.Seed, 1))
	trace, clear := stepLine(a)
	fit := scones.Fit{
		Lambda:    given(c.Lambda),
		Bandwidth: given(c.Bandwidth),
		Mean:      x.images != nil,
		MaxAtoms:  c.Most,
		Steps:     c.Steps,
		Solver:    ot.LBFGS{Control: ot.Control{Trace: trace}},
	}
	fitted, err := fit.Run(ctx, rng, x.x, y.x)
	clear()
	lab.Check(blame(err))
	out, rate := c.sample(ctx, fitted, of.x, rng)
	warnSlow(a.err, fitted.Acceptance)
	n, _ := out.Dims()
	writeMatrix(to, "samples.npy", out)
	c.draw(to, out, of)
	s := sampled{
		Status:     fitted.Plan.Status.String(),
		Seed:       c.Seed,
		Samples:    n,
		Lambda:     fitted.Lambda,
		Bandwidth:  fitted.Bandwidth,
		Acceptance: fitted.Acceptance,
		PerSecond:  rate,
		Inputs:     in.digests(),
		Files:      to.Files(),
	}
	lab.Check(commit(to, s))
	lab.Check(os.Remove(fitted.Path))
	if c.JSON {
		err = writeJSON(a, s)
	} else {
		a.printf("plan: %s at lambda %.4g\n%d samples, %.3g a second, acceptance %.2f at bandwidth %.3g\nwrote %s\n",
			s.Status, s.Lambda, s.Samples, s.PerSecond, s.Acceptance, s.Bandwidth, c.Out)
	}
	if err == nil && fitted.Plan.Status != ot.Converged {
		err = unconverged("sample: the plan is %s: samples are of potentials that are not the optimal ones", s.Status)
	}
	return err
}

// sample draws, with chains that are stored in the folder, and returns samples a second: of a run
// that went on, by the steps that were left.
func (c sampleCmd) sample(ctx context.Context, fitted *scones.Fitted, of *mat.Dense,
	rng *rand.Rand) (out *mat.Dense, rate float64) {
	fitted.Path, fitted.Every = filepath.Join(c.Out, ".chains.ckpt"), c.Every
	steps := 0
	fitted.Trace = func(score.Progress) { steps++ }
	begin := time.Now()
	out, err := fitted.Sample(ctx, rng, of, c.Each)
	lab.Check(blame(err))
	n, _ := out.Dims()
	return out, float64(n*steps) / float64(c.Steps) / time.Since(begin).Seconds()
}

// warnSlow warns where samples are little else than atoms with noise.
func warnSlow(w io.Writer, acceptance float64) {
	if acceptance < .2 {
		fmt.Fprintf(w,
			"acceptance %.2g: chains have hardly moved from the atoms at which they began; more --steps or a "+
				"larger --bandwidth may help\n", acceptance)
	}
}

// names are the files of the samples: samples.npy, and a picture each.
func (c sampleCmd) names(of cloud) []string {
	out := []string{"samples.npy"}
	if of.images != nil {
		for i := range of.images.Len() * c.Each {
			out = append(out, fmt.Sprintf("%05d-%d.png", i/c.Each, i%c.Each))
		}
	}
	return out
}

// draw writes what samples show, where they are pictures.
func (c sampleCmd) draw(to *durable.Folder, y *mat.Dense, like cloud) {
	if like.images == nil {
		return
	}
	_, channels, h, w := like.images.Shape()
	m := lab.Must(data.FromMat(y, channels, h, w, 0, 1))
	for i, name := range c.names(like)[1:] {
		lab.Check(to.WriteFile(name, func(f io.Writer) error { return png.Encode(f, m.Image(i)) }))
	}
}
