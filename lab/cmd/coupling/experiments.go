package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"coupling/figures"
	"coupling/lab"
	"coupling/lab/store"
)

type experimentsCmd struct {
	Name string `arg:"" optional:""`
}

func (c experimentsCmd) Run(a *app) error {
	ds := figures.Decoders()
	if c.Name != "" {
		return c.one(a.out, ds)
	}
	w := table(a.out)
	fmt.Fprintln(w, "NAME\tPARAMETERS")
	for _, d := range ds {
		var params []string
		for _, p := range store.Params(d.Params) {
			params = append(params, p.Name)
		}
		fmt.Fprintf(w, "%s\t%s\n", d.Experiment, clip(strings.Join(params, ", "), 90))
	}
	return w.Flush()
}

func (c experimentsCmd) one(out io.Writer, ds []*store.Decoder) error {
	d := orUsage(store.DecoderOf(c.Name, ds))
	used := usedValues(c.Name)
	w := table(out)
	fmt.Fprintln(w, "PARAMETER\tTYPE\tALLOWED\tIN QUICK FIGURES\tMEANING")
	for _, p := range store.Params(d.Params) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Name, p.Type, p.Range(),
			clip(strings.Join(used[p.Name], ", "), 40), p.Doc)
	}
	lab.Check(w.Flush())
	return example(out, c.Name, store.Params(d.Params), used)
}

// usedValues returns the values that the quick figures ask of each parameter of an experiment.
func usedValues(experiment string) map[string][]string {
	out := map[string][]string{}
	for _, f := range figures.All() {
		for _, j := range f.Jobs(lab.Setting{Preset: lab.Quick, Seed: 1, Device: "cpu"}) {
			if j.Record().Experiment != experiment {
				continue
			}
			for column, v := range lab.Must(j.Record().Flatten()) {
				text := store.FormatCell(v)
				if s, ok := v.(string); ok {
					text = strconv.Quote(s)
				}
				if name, ok := strings.CutPrefix(column, "param."); ok && !slices.Contains(out[name], text) {
					out[name] = append(out[name], text)
				}
			}
		}
	}
	return out
}

// example prints a sweep file: a cell of the figures', with a grid over a parameter that they vary.
func example(out io.Writer, experiment string, params []store.Param, used map[string][]string) error {
	vary, text := "", ""
	for _, p := range params {
		switch values := used[p.Name]; {
		case len(values) == 0:
		case len(values) > 1 && vary == "":
			vary = fmt.Sprintf("design:\n- grid:\n    %s: [%s]\n", p.Name,
				strings.Join(values[:min(4, len(values))], ", "))
		default:
			text += fmt.Sprintf("  %s: %s\n", p.Name, values[0])
		}
	}
	if text != "" {
		text = "params:\n" + text
	}
	_, err := fmt.Fprintf(out, "\n# coupling sweep FILE.yaml\nexperiment: %s\nseed: 1\n%s%s", experiment, text, vary)
	return err
}
