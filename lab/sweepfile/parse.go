package sweepfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coupling/lab"
	"coupling/lab/durable"
	"coupling/lab/store"

	"go.yaml.in/yaml/v3"
)

// A Sweep is the content of a file.
type Sweep struct {
	document
	file    string
	factors []factor
}

// MostCells is the number of cells of the largest design that is expanded.
const MostCells = 1_000_000

const mostBytes = 1 << 20

// Read reads a YAML file; see [Parse].
func Read(path string, ds []*store.Decoder) (*Sweep, error) {
	b, err := durable.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return Parse(path, b, ds)
}

// Parse reads a sweep for one of the experiments of ds. Errors in the file are
// of type [*Error] and have a line.
func Parse(file string, b []byte, ds []*store.Decoder) (*Sweep, error) {
	s := &Sweep{document: document{Seed: 1, Replicates: 1}, file: file}
	if err := s.read(b, ds); err != nil {
		return nil, located(file, err)
	}
	return s, nil
}

func (s *Sweep) read(b []byte, ds []*store.Decoder) (err error) {
	defer lab.End(&err)
	if len(b) > mostBytes {
		return fmt.Errorf("it has %d bytes: want at most %d", len(b), mostBytes)
	}
	in := yaml.NewDecoder(bytes.NewReader(b))
	switch err := in.Decode(&s.document); {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case err != nil:
		return err
	case !errors.Is(in.Decode(new(yaml.Node)), io.EOF):
		return errors.New("a second document: want one")
	}
	s.check(ds)
	return nil
}

type document struct {
	Experiment string
	Seed       uint64
	Replicates int
	Params     values
	Design     []step

	line    map[string]int // of the keys
	decoder *store.Decoder
}

// UnmarshalYAML reads the file.
func (d *document) UnmarshalYAML(n *yaml.Node) error {
	d.line = fields(n, d, "sweep")
	return nil
}

// Jobs yields the cells, of which not all must be in memory at a time: the seeds of one set of
// parameters beside each other, and a cell that two steps produce twice. An error in the parameters
// of a cell, an [*Error], is the last.
func (s *Sweep) Jobs() iter.Seq2[store.Job, error] {
	return func(yield func(store.Job, error) bool) {
		expand(s.factors, s.Params, func(c values) bool {
			for i := range s.Replicates {
				j, err := s.job(s.Seed+uint64(i), c)
				if err != nil {
					err = located(s.file, err)
				}
				if !yield(j, err) || err != nil {
					return false
				}
			}
			return true
		})
	}
}

// All returns the cells, each once.
func (s *Sweep) All() (all []store.Job, err error) {
	jobs := func(yield func(store.Job) bool) {
		for j, fault := range s.Jobs() {
			if err = fault; err != nil || !yield(j) {
				return
			}
		}
	}
	all = slices.Collect(store.Distinct(jobs))
	return all, err
}

// check finds the experiment and refuses invalid combinations of fields.
func (s *Sweep) check(ds []*store.Decoder) {
	d, err := store.DecoderOf(s.Experiment, ds)
	switch s.decoder = d; {
	case s.Experiment == "":
		fail(1, "no experiment: coupling experiments lists them")
	case err != nil:
		fail(s.line["experiment"], "%w", err)
	case s.Replicates < 1:
		fail(s.line["replicates"], "replicates %d: want 1 or more", s.Replicates)
	case s.Seed > math.MaxUint64-uint64(s.Replicates-1):
		fail(s.line["seed"], "seed %d: %d replicates go beyond 2^64", s.Seed, s.Replicates)
	}
	s.factors = slices.Concat(s.Design...)
	cells := s.Replicates
	for _, f := range s.factors {
		cells = min(cells, MostCells+1) * len(f)
	}
	if cells > MostCells {
		fail(1, "more than %d cells", MostCells)
	}
}

// job makes a cell; errors of the experiment's parameters get the line that set them.
func (d *document) job(seed uint64, c values) (store.Job, error) {
	b, err := c.object()
	if err != nil {
		return store.Job{}, err
	}
	j, err := d.decoder.Make(seed, b)
	if err != nil {
		return j, &Error{Line: c.lineOf(blamed(err)), Err: err}
	}
	return j, nil
}

func blamed(err error) string {
	var unknown *store.UnknownParamError
	var refused *store.ParamError
	pointer := ""
	switch {
	case errors.As(err, &refused):
		return refused.Param
	case errors.As(err, &unknown):
		pointer = unknown.Path
	default: // of the JSON decoder
		_, rest, _ := strings.Cut(err.Error(), `within "`)
		pointer, _, _ = strings.Cut(rest, `"`)
	}
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}

// EstimateTime estimates the time of numbers of cells, by experiment: "12 to compute: about 3m20s
// of computing if they are like the 30 that are stored, which took 2s to 40s".
func EstimateTime(s *store.Store, jobs map[string]int) string {
	var past []float64 // seconds, on the machines that computed them
	sum, missing := 0., 0
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		missing += jobs[name]
		for r, err := range s.Records(name) {
			if err == nil && r.Experiment == name { // a corrupt record has no time
				past = append(past, r.Manifest.Seconds)
				sum += r.Manifest.Seconds
			}
		}
	}
	n := len(past)
	if n == 0 {
		return fmt.Sprintf("%d to compute; nothing like them is in the store to tell how long that takes", missing)
	}
	return fmt.Sprintf(
		"%d to compute: about %v of computing if they are like the %d that are stored, which took %v to %v",
		missing, rounded(sum*float64(missing)/float64(n)), n, rounded(slices.Min(past)), rounded(slices.Max(past)))
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// An Error is an error in a file, with its line.
type Error struct {
	File string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the error without the line.
func (e *Error) Unwrap() error { return e.Err }

// fail ends [Parse] with an error at a line, to which [located] adds the file. All that reads nodes ends so.
func fail(line int, format string, args ...any) {
	lab.Check(&Error{Line: line, Err: fmt.Errorf(format, args...)})
}

var yamlLine = regexp.MustCompile(`(?s)line (\d+): (.*)`)

// located adds the file to an error, and gives those of the YAML library the form of the others.
func located(file string, err error) error {
	own := &Error{}
	if !errors.As(err, &own) {
		line, text := reason(err)
		own = &Error{Line: line, Err: errors.New(text)}
	}
	return &Error{file, max(own.Line, 1), own.Err}
}

// reason takes an error of the YAML library apart.
func reason(err error) (line int, text string) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 1, strings.TrimPrefix(err.Error(), "yaml: ")
	}
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}

// entries yields the keys and values of a mapping. The library refuses a key that is there twice.
func entries(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	lab.Check(n.Decode(&map[string]yaml.Node{}))
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content) && yield(n.Content[i], n.Content[i+1]); i += 2 {
		}
	}
}

// fields reads a mapping into the struct that to points to, whose fields have the names of keys in
// capitals, and returns the keys' lines. It refuses other keys, and a fraction for an int.
func fields(n *yaml.Node, to any, what string) (lines map[string]int) {
	v, known := reflect.ValueOf(to).Elem(), map[string]reflect.StructField{}
	var names []string
	for f := range v.Type().Fields() {
		if f.IsExported() {
			names = append(names, strings.ToLower(f.Name))
			known[strings.ToLower(f.Name)] = f
		}
	}
	lines = map[string]int{}
	for key, value := range entries(n) {
		name := key.Value
		f, ok := known[name]
		if !ok {
			fail(key.Line, "%s: unknown key %q%s", what, name, store.DidYouMean(name, names))
		}
		lines[name] = key.Line
		if f.Type.Kind() == reflect.Int && value.ShortTag() != "!!int" {
			fail(key.Line, "%s: want a whole number, have %s", name, value.Value)
		}
		if err := value.Decode(v.FieldByIndex(f.Index).Addr().Interface()); err != nil {
			line, text := reason(err)
			fail(line, "%s: %s", name, text)
		}
	}
	return lines
}

// plain is a node as a JSON value. NaN and the infinities are written as the store does.
func plain(n *yaml.Node) any {
	var v any
	lab.Check(n.Decode(&v))
	return jsonValue(n.Line, v)
}

func jsonValue(line int, v any) any {
	switch v := v.(type) {
	case nil, time.Time, map[any]any, []byte:
		fail(line, "%T is no parameter: want a number, text in quotes, true, false, a list, or a mapping with names", v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []any:
		for i := range v {
			v[i] = jsonValue(line, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = jsonValue(line, v[k])
		}
	}
	return v
}
