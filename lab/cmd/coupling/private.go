package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"coupling/data"
	"coupling/dp"
	"coupling/dp/synth"
	"coupling/dp/synth/suggest"
	"coupling/figures/style"
	"coupling/lab"
	"coupling/lab/device"
)

// privateCmd makes a synthetic data set from a private one.
type privateCmd struct {
	pictures
	Kind   string  `default:"any" enum:"any,handwriting"`
	Eps    float64 `required:"" min:">0"`
	Delta  float64 `default:"1e-5"`
	Method string  `default:"auto" enum:"auto,semi-dual,refined,dp-merf,dp-sgd,dp-sinkhorn"`
	Fast   bool
	Count  int    `default:"10000" min:"1"`
	Steps  *int   `min:"1"`
	Device string `default:""`
	Seed   *uint64
	Out    string `required:"" placeholder:"DIR"`
}

// garbage is the garbage collector's target, in percent of the memory in use. It is low, since nearly all memory is
// pixels and tables without pointers, which cost the collector nothing.
const garbage = 4

// Run learns, draws and states.
func (c privateCmd) Run(a *app) error {
	ctx, stop := interruptible(a)
	defer stop()
	ask := suggest.Request{
		Name:        c.Method,
		Eps:         c.Eps,
		Handwriting: c.Kind == "handwriting",
		Fast:        c.Fast,
		Steps:       given(c.Steps),
	}
	measured := slices.Contains([]string{suggest.Auto, suggest.SemiDual, suggest.Refined}, c.Method)
	if ask.Handwriting && !measured {
		return usagef("--kind %s with --method %s: only semi-dual and refined use it", c.Kind, c.Method)
	}
	lab.Check(usage(isOutside(c.Out, c.Images)))
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	images, _, err := c.parts(ctx, a)
	lab.Check(usage(err))
	public := orUsage(synth.PublicOf(images))
	dev := orUsage(device.Open(c.Device))
	defer func() { _ = dev.Close() }() // frees what lives
	used, _ := os.ReadDir(c.Out)       // if there are any, it is refused below
	if measured && !a.quiet && len(used) == 0 {
		a.note("%s\n", ask.Expectation(public))
	}
	status := a.status(10 * time.Second)
	statement, err := synth.Publication{
		Method:  ask.Method,
		Budget:  dp.Budget{Epsilon: c.Eps, Delta: c.Delta},
		Count:   c.Count,
		Seed:    c.Seed,
		Out:     c.Out,
		Picture: drawGrid,
	}.Run(ctx, dev, images, func(what string, done, of int) { status.say(fmt.Sprintf("%s: %d of %d", what, done, of)) })
	status.clear()
	lab.Check(blame(err))
	a.printf("wrote %s: %s of %d classes\n\n%s", c.Out, plural(statement.Synthetic, "image"),
		len(public.Classes), statement.Text())
	return nil
}

func drawGrid(w io.Writer, m *data.Images) error {
	_, c, h, wide := m.Shape()
	const columns = 10
	grid := style.ImageGrid{C: c, H: h, W: wide, Columns: columns, RowLabels: m.Classes}
	for _, at := range m.ByClass() {
		for k := range columns {
			var row []float32
			if k < len(at) {
				row = m.Row(at[k])
			}
			grid.Images = append(grid.Images, row)
		}
	}
	return style.Figure{Body: grid, Width: style.Screen}.Save(w, "png")
}
