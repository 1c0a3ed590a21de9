package lab

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"slices"

	"coupling/lab/store"
)

// A Study is one figure or table: an experiment, the cells that each preset
// asks of it, a drawing made from the finished cells, and claims about them.
// The list of jobs, their decoders and the recall of the cells follow from it.
//
//	func Bias() lab.Study[BiasParams, BiasOut] {
//		return lab.Study[BiasParams, BiasOut]{
//			Name: "tour/bias", Title: "…", Shows: "…",
//			Sizes:      map[lab.Preset]string{lab.Smoke: "n = 20", …},
//			Experiment: lab.Experiment[BiasParams, BiasOut]{Name: "tour/bias", Version: 1, Run: runBias},
//			Grid:       biasGrid,
//			Draw:       drawBias,
//			Claims:     claimBias,
//		}
//	}
//
// A program can start from a study of the project and change it: another grid, another drawing. It
// takes the study from [StudyOf], so that the figure says that its parameters were edited.
type Study[P, R any] struct {
	// Name is PAPER/FIGURE, "scones/tab2": the number in the paper, or a descriptive word where the
	// paper has no such figure. Only a numbered figure can be smaller than the paper's.
	Name  string
	Title string
	// Shows describes the figure in a sentence or two.
	Shows string
	// Sizes describes what each preset computes: "n = 500, five ε". Presets without an entry are not offered.
	Sizes map[Preset]string
	// Seconds estimates for each preset the CPU seconds of computing all cells, as measured once on
	// two cores. The command prints it before a first run. Paper has no entry where networks are
	// trained: [Experiment.Work] counts what those compute.
	Seconds    map[Preset]float64
	Experiment Experiment[P, R]
	// Grid lists the parameters of the cells. The drawing and the claims read everything from the
	// cells, so another grid gives another figure.
	Grid func(Setting) []P
	// Seeds lists the seeds of each cell of the grid, as [Replicates] does; nil: the setting's alone.
	Seeds func(Setting) []uint64
	// Also lists cells of further experiments that the figure needs, such as trainings that several
	// figures share. [Part.View] returns them.
	Also []Cells

	Draw   func(View[P, R]) (Exhibit, error)
	Claims func(View[P, R]) ([]Claim, error)

	constructor, file string
	made              *Study[P, R] // as the constructor made it, where StudyOf called that
}

// Cells are the cells of one experiment that a study needs. [Part] implements it.
type Cells interface {
	jobs(Setting) []store.Job
	decoder() *store.Decoder
	load(Source)
}

// A Part is an experiment with a grid: cells that studies share.
type Part[P, R any] struct {
	Experiment Experiment[P, R]
	Grid       func(Setting) []P
	Seeds      func(Setting) []uint64 // as in [Study]
}

// Replicates returns the [Study.Seeds] from the setting's seed on, as many as belong to the preset.
func Replicates(smoke, quick, full, paper int) func(Setting) []uint64 {
	return func(set Setting) (seeds []uint64) {
		for i := range Pick(set.Preset, smoke, quick, full, paper) {
			seeds = append(seeds, set.Seed+uint64(i))
		}
		return seeds
	}
}

func (p Part[P, R]) seeds(set Setting) []uint64 {
	if p.Seeds == nil {
		return []uint64{set.Seed}
	}
	return p.Seeds(set)
}

// jobs lists the cells: those of one seed after those of another.
func (p Part[P, R]) jobs(set Setting) (jobs []store.Job) {
	grid := p.Grid(set)
	for _, seed := range p.seeds(set) {
		jobs = append(jobs, p.Experiment.Jobs(seed, grid...)...)
	}
	return jobs
}

func (p Part[P, R]) decoder() *store.Decoder { return p.Experiment.Decoder() }

// A Source provides finished cells: a store and a setting.
type Source struct {
	Setting
	made   Setting // whose cells these are; its preset is another where [Figure.Sabotaged] asks the claims of another
	store  *store.Store
	ours   bool // no paper has the figure
	edited bool // the cells are not those of the preset
	null   []Spoiler
	change func(params any) // changes what a pointer to parameters points to; see [Figure.AsIf]
	parts  map[string]any   // recalled views by [Part.id]
}

// Edited reports whether a program has changed the grid: the cells are not those of the preset.
func (s Source) Edited() bool { return s.edited }

// Badge returns the remark that a picture shows at a preset below the paper's: "quick: n = 500;
// smaller than the paper's". It is empty at the paper's sizes. Further remarks, such as the data
// used, follow it. Where a program has changed the grid, it is "edited parameters: n = 500".
func (s Source) Badge(sizes string, remarks ...string) string {
	text := ""
	switch {
	case s.edited:
		text = "edited parameters: " + sizes
	case s.Preset == Paper:
	case s.ours:
		text = fmt.Sprintf("%s: %s", s.Preset, sizes)
	default:
		text = fmt.Sprintf("%s: %s; smaller than the paper's", s.Preset, sizes)
	}
	for _, r := range remarks {
		if r != "" && text != "" {
			text += "; "
		}
		text += r
	}
	return text
}

// A View is the finished cells of a study or part, in the order of the grid; of several seeds,
// those of one after those of another.
type View[P, R any] struct {
	Source
	Cells []Result[P, R]
	Seeds []uint64

	experiment Experiment[P, R]
}

// load recalls the cells of the part for [Part.View].
func (p Part[P, R]) load(s Source) {
	var cells []Result[P, R]
	for _, seed := range p.seeds(s.made) {
		cells = append(cells, Must(RecallAll(s.store, p.Experiment, seed, p.Grid(s.made)))...)
	}
	for _, n := range s.null {
		switch spoil := n.spoil.(type) {
		case func([]Result[P, R]):
			if n.experiment == p.Experiment.Name {
				spoil(cells)
			}
		case func(experiment string, params, values []any):
			var params, values []any
			for i := range cells {
				params, values = append(params, cells[i].Params), append(values, &cells[i].Value)
			}
			spoil(p.Experiment.Name, params, values)
		}
	}
	for i := range cells {
		if c := &cells[i]; s.change != nil {
			s.change(&c.Params)
			c.Key = Must(p.Experiment.Key(c.Seed, c.Params))
		}
	}
	s.parts[p.id(s)] = View[P, R]{s, cells, p.seeds(s.made), p.Experiment}
}

func (p Part[P, R]) id(s Source) string {
	return fmt.Sprint(p.Experiment.Name, p.Grid(s.made), p.seeds(s.made))
}

// View returns the cells of the part, which the study must list in Also: otherwise the study's Draw
// and Claims end with an error that says so.
func (p Part[P, R]) View(s Source) View[P, R] {
	v, ok := s.parts[p.id(s)]
	if !ok {
		const missing = "lab: the study needs cells of %s, which are not in its Also: list the part there, with " +
			"the same grid"
		Check(fmt.Errorf(missing, p.Experiment.Name))
	}
	return v.(View[P, R])
}

// At returns the cell with parameters p at the setting's seed. If the grid has no such cell, the
// study's Draw and Claims end with an error that says so.
func (v View[P, R]) At(p P) Result[P, R] {
	key := Must(v.experiment.Key(v.Seed, p))
	i := slices.IndexFunc(v.Cells, func(r Result[P, R]) bool { return r.Key == key })
	if i < 0 {
		name := v.experiment.Name
		Check(fmt.Errorf("lab: the grid of %s has no cell %+v, which the figure needs: %w", name, p, store.ErrMissing))
	}
	return v.Cells[i]
}

// Must returns v. If err is not nil, it ends the experiment's Run, or the study's Draw or Claims,
// that called it: this then returns err. It must be called on the goroutine of that function. A
// notebook's pictures (nb.Live.Draw) and the command end so too.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check is [Must] without a value.
func Check(err error) {
	if err != nil {
		panic(endError{err})
	}
}

type endError struct{ error }

// End sets err, deferred by a function that Check ended, to what Check was given. Run, Draw and Claims
// do so already; a program defers it where it reports its errors.
func End(err *error) {
	switch r := recover().(type) {
	case nil:
	case endError:
		*err = r.error
	default:
		panic(r)
	}
}

// Where returns the cells whose parameters satisfy keep, in the order of the grid.
func (v View[P, R]) Where(keep func(P) bool) []Result[P, R] {
	var out []Result[P, R]
	for _, r := range v.Cells {
		if keep(r.Params) {
			out = append(out, r)
		}
	}
	return out
}

// A Null is a garbage result, such as that of an untrained network, independent pairs, a copy of
// the data or chance. A claim has a null on which it must fail, and a test checks that it does.
type Null struct {
	Name  string // "independent pairs"
	Spoil []Spoiler
}

// A Spoiler overwrites the results of one experiment with garbage; [Spoil] makes it.
type Spoiler struct {
	experiment string
	spoil      any // func([]Result[P, R])
}

// Spoil returns the spoiler of e's cells. Its function changes values in place;
// the stored cells stay as they are.
func Spoil[P, R any](e Experiment[P, R], spoil func([]Result[P, R])) Spoiler {
	return Spoiler{e.Name, spoil}
}

// SpoilAll is [Spoil] of every experiment. Its function gets parameters and pointers to values.
func SpoilAll(spoil func(experiment string, params, values []any)) Spoiler {
	return Spoiler{spoil: spoil}
}

// numbered are the names of a paper's own figures and tables.
var numbered = regexp.MustCompile(`/(fig|tab)[0-9]`)

// Figure returns the study with its types erased.
func (s Study[P, R]) Figure() Figure {
	f := Figure{
		Name: s.Name, Title: s.Title, Shows: s.Shows, Sizes: s.Sizes, Seconds: s.Seconds,
		Constructor: s.constructor, File: s.file,
		Jobs: s.jobs,
		Draw: func(store *store.Store, set Setting) (out Exhibit, err error) {
			defer End(&err)
			return s.Draw(s.view(s.source(store, set)))
		},
		Claims: func(store *store.Store, set Setting) ([]Claim, error) { return s.claims(s.source(store, set)) },
		AsIf: func(store *store.Store, set Setting, change func(params any)) (out Exhibit, claims []Claim, err error) {
			defer End(&err)
			source := s.source(store, set)
			source.edited, source.change = true, change
			out = Must(s.Draw(s.view(source)))
			claims, err = s.claims(source)
			return out, claims, err
		},
		Sabotaged: func(store *store.Store, set Setting, asked Preset, by ...Spoiler) ([]Claim, error) {
			source := s.source(store, set)
			source.Preset, source.null = asked, by
			return s.claims(source)
		},
		Grid:   func(set Setting) any { return s.Grid(set) },
		Edited: s.edited,
	}
	for _, p := range s.parts() {
		f.Decoders = append(f.Decoders, p.decoder())
	}
	if s.made != nil && !(sameFunc(s.Draw, s.made.Draw) && sameFunc(s.Claims, s.made.Claims)) {
		f.Constructor, f.File = "", "" // it makes another figure
	}
	return f
}

func (s Study[P, R]) main() Part[P, R] { return Part[P, R]{s.Experiment, s.Grid, s.Seeds} }

func (s Study[P, R]) parts() []Cells { return append([]Cells{s.main()}, s.Also...) }

func (s Study[P, R]) jobs(set Setting) (jobs []store.Job) {
	for _, p := range s.parts() {
		jobs = append(jobs, p.jobs(set)...)
	}
	return jobs
}

// edited reports whether the cells of the study, those of its Also among them, are other cells than
// the constructor's.
func (s Study[P, R]) edited(set Setting) bool {
	if s.made == nil {
		return false
	}
	sameKey := func(a, b store.Job) bool { return a.Record().Key == b.Record().Key }
	return !sameFunc(s.Experiment.Run, s.made.Experiment.Run) ||
		!slices.EqualFunc(s.jobs(set), s.made.jobs(set), sameKey)
}

// sameFunc reports whether two functions have one code.
func sameFunc(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func (s Study[P, R]) source(store *store.Store, set Setting) Source {
	return Source{Setting: set, made: set, store: store, ours: !numbered.MatchString(s.Name), edited: s.edited(set)}
}

func (s Study[P, R]) view(source Source) View[P, R] {
	source.parts = map[string]any{}
	for _, p := range s.parts() {
		p.load(source)
	}
	return s.main().View(source)
}

// claims returns the claims that are made about cells. Where these are not the preset's, laws alone
// are, and none if the claims are about a cell that the grid has not.
func (s Study[P, R]) claims(source Source) (out []Claim, err error) {
	defer func() {
		if source.edited && errors.Is(err, store.ErrMissing) {
			err = nil
		}
		out = slices.DeleteFunc(out, func(c Claim) bool { return source.edited && !c.Law })
	}()
	defer End(&err)
	if s.Claims == nil {
		return nil, nil
	}
	return s.Claims(s.view(source))
}

// StudyOf returns the study that construct makes, and remembers it: if a program then changes Grid,
// Seeds, Also or the experiment's Run, the figure says "edited parameters" and names no preset, size
// or command, and asks only the claims that are laws. If it changes Draw or Claims, no command of the
// project is named, since none makes that figure.
func StudyOf[P, R any](construct func() Study[P, R]) Study[P, R] {
	s := construct()
	made := runtime.FuncForPC(reflect.ValueOf(construct).Pointer())
	file, _ := made.FileLine(made.Entry())
	s.constructor, s.file = made.Name(), path.Join(path.Base(path.Dir(file)), path.Base(file))
	asMade := s
	s.made = &asMade
	return s
}

// FigureOf returns the figure of [StudyOf].
func FigureOf[P, R any](construct func() Study[P, R]) Figure { return StudyOf(construct).Figure() }
