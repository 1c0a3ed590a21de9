package device_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

// Arguments that no array is, or that are out of range, panic before anything is done, and the message names the
// operation. Arrays of wrong shapes and types: TestWrongArrays.
func TestWrongArguments(t *testing.T) {
	d := opener(device.CPU{})(t)
	defer d.Scope().Close()
	f := func(shape ...int) *device.Array { return d.Zeros(device.Float32, shape...) }
	i := func(shape ...int) *device.Array { return d.Zeros(device.Int32, shape...) }
	step := func(t *device.Array, change func(u *device.Update)) func() {
		return func() {
			list := func() []*device.Array { return []*device.Array{f(3)} }
			u := device.Update{Factor: f(1), W: list(), G: list(), M: list(), V: list()}
			change(&u)
			device.StepAdam(u, t, device.Adam{})
		}
	}
	window := device.SquareWindow(3, 1, 1)
	const none = device.Step + 1
	calls := map[string][]func(){
		"New": {func() { d.New(device.Float32, 2, -1) }},
		"Reshape": {func() { f(6).Reshape(4) }, func() { f(6).Reshape(-1, 4) }, func() { f(6).Reshape(-1, -1) },
			func() { f(0).Reshape(0, -1) }},
		"Rows": {func() { f(3).Rows(2, 1) }, func() { f(3).Rows(-1, 1) }, func() { f(3).Rows(0, 4) },
			func() { f().Rows(0, 1) }},
		"fill":      {func() { f(3).Set32(make([]float32, 2)) }, func() { f(3).Set64(make([]float64, 3)) }},
		"read":      {func() { f(3).Get64() }, func() { i(3).Get32() }, func() { f(3).GetInts() }},
		"Mat":       {func() { f(3).Mat() }, func() { f(0, 3).Mat() }},
		"FromDense": {func() { d.FromDense(device.Int32, mat.NewDense(1, 1, nil)) }},
		"Map":       {func() { device.Map(i(3), i(3), device.Exp, 0) }, func() { device.Map(f(3), f(3), none, 0) }},
		"MapVJP":    {func() { device.MapVJP(f(3), f(3), f(3), f(3), none, 0) }},
		"Reduce":    {func() { device.Reduce(f(1), f(3), device.LogSumExp+1) }},
		"Affine":    {func() { device.Affine{Func: none}.Apply(f(3), f(3)) }},
		"Paste":     {func() { device.Paste(f(3, 2), f(2, 2), 0, 2) }, func() { device.Paste(f(3), f(1), 1, 0) }},
		"Cut":       {func() { device.Cut(f(2), f(3), 0, -1) }},
		"Gather": {
			func() { device.Gather(f(2, 3), f(4, 3), i(3)) },
			func() { device.Gather(f(2, 3), f(4, 3), f(2)) },
		},
		"Scatter": {func() { device.Scatter(f(4, 3), f(2, 3), i(2, 1)) }},
		"window": {
			func() { device.SquareWindow(4, 1, 0).Out(3, 5) },
			func() { device.SquareWindow(2, 1, -1).Out(3, 5) },
		},
		"ConvWeight": {func() { device.ConvWeight(f(1, 2, 3, 3), f(1, 1, 3, 3), f(1, 1, 3, 3), window) }},
		"Gemm": {
			func() { device.Gemm(f(6), 1, f(6).N(), f(6).N(), 0) },
			func() { device.Gemm(f(2, 2, 2), 1, f(3, 2, 2).N(), f(2, 2, 2).N(), 0) },
			func() { device.Gemm(f(2, 3), 1, f(2, 4).N(), f(4, 3).T(), 0) },
		},
		"MaxPool": {
			func() { device.MaxPool(f(1, 1, 3, 3), i(1, 1, 3, 2), f(1, 1, 3, 3), window) },
			func() { device.MaxPool(f(1, 1, 7, 7), i(1, 1, 7, 7), f(1, 1, 3, 3), device.SquareWindow(3, 1, 3)) },
			func() { // the two elements of the only window straddle the plane
				w := device.Window{Kernel: [2]int{2, 1}, Pad: [2]int{1, 0}, Dilation: [2]int{3, 1}}
				device.MaxPool(f(1, 1, 1, 2), i(1, 1, 1, 2), f(1, 1, 2, 2), w)
			},
		},
		"Nearest": {func() { device.Nearest(f(1, 1, 3, 3), f(1, 1, 0, 3)) }},
		"CrossEntropy": {
			func() { device.CrossEntropy(f(3), f(3, 2), f(3, 2), i(2)) },
			func() { device.CrossEntropy(f(3), f(3, 2), f(3, 2), f(3)) },
		},
		"ClipRows": {func() { device.ClipRows(f(3, 2), f(3, 2), 0) }, func() { device.ClipRows(f(3, 2), f(3, 2), -1) }},
		"StepAdam": {
			step(i(2), func(*device.Update) {}), step(i(1), func(u *device.Update) { u.M = nil }),
			step(i(1), func(u *device.Update) { u.V = nil }), step(i(1), func(u *device.Update) { u.Clip = -1 }),
			step(i(1), func(u *device.Update) { u.Average = u.W }),
		},
		"LSERows": {func() { device.LSERows(f(2), f(4, 2, 3), f(4, 3), 1) }},
		"Anneal":  {func() { device.Anneal(f(1, 2), f(1, 3), f(1, 2), f(1, 3), f(1, 2, 3), nil) }},
	}
	for op, wrong := range calls {
		for n, call := range wrong {
			refused(t, fmt.Sprintf("call %d", n), op, call)
		}
	}
	must.Do(d.Err()) // mistakes of the program are no errors of the device
}

// refused demands a panic that names the operation.
func refused(t *testing.T, what, op string, call func()) {
	t.Helper()
	if said := panicOf(call); !strings.HasPrefix(said, "device: ") || !strings.Contains(said, op) {
		t.Errorf("%s, %s: panic %q: must name the operation", op, what, said)
	}
}

func panicOf(f func()) (message string) {
	defer func() { message = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestOpen(t *testing.T) {
	for _, name := range []string{"gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "CPU", "cpu,tf32", "cuda:1,fp8"} {
		if d, err := device.Open(name); err == nil ||
			!strings.Contains(err.Error(), "must be auto, cpu, cuda or cuda:N") {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	t.Setenv("COUPLING_DEVICE", "cpu")
	for _, name := range []string{"cpu", ""} {
		d := must.Get(device.Open(name))
		if d.Info().Kind != "cpu" || d.Note() != "" || !strings.HasPrefix(d.String(), "cpu (") {
			t.Errorf("%q: %v, note %q", name, d, d.Note())
		}
		d.Close()
	}
	t.Setenv("COUPLING_DEVICE", "")
	d := must.Get(device.Open(""))
	defer d.Close()
	if cpu := d.Info().Kind == "cpu"; cpu != strings.Contains(d.Note(), "auto took the cpu") {
		t.Errorf("auto gave %v, note %q: must say so where it is the cpu", d, d.Note())
	}
}

// Matrices come and go whatever their stride; floats of either type.
func TestMatrices(t *testing.T) {
	d := opener(device.CPU{})(t)
	defer d.Scope().Close()
	whole := mat.NewDense(3, 4, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	part := whole.Slice(1, 3, 1, 3).(*mat.Dense)
	for _, dtype := range []device.DType{device.Float32, device.Float64} {
		a := d.FromDense(dtype, part)
		back, err := a.Mat()
		if err != nil || !mat.Equal(back, part) || a.Type() != dtype {
			t.Errorf("%v became %v, %v", part, back, err)
		}
		a.SetFloats([]float64{1, 2, 3, 4})
		if x, err := a.Float64s(); err != nil || x[3] != 4 {
			t.Errorf("got %v, %v", x, err)
		}
		if a.Dim(0) != 2 || a.Dim(-1) != 2 || a.Rank() != 2 || a.Len() != 4 || a.Device() != d {
			t.Errorf("%v", a)
		}
	}
	if got, want := d.New(device.Float32, 2, 3).String(), "float32[2 3] on cpu"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// arguments are the float arrays of an operation.
type arguments []*device.Array

// writings are the operations: the shapes of what each writes, then of what it reads. After the name of a shape stands
// = where the operation's description says that both may be one array, ? where there need be none, and the axes that
// may be longer by themselves. Sides of shapes are n.
func writings(d *device.Device, n int) map[string]writing {
	i := func(shape ...int) *device.Array { return d.Zeros(device.Int32, shape...) }
	c, w, list := device.Cost{Square: 1}, device.SquareWindow(1, 1, 0), func(a ...*device.Array) arguments { return a }
	stream := d.Stream(1)
	return map[string]writing{
		"Fill":      {"v0 <", with(device.Fill, 1)},
		"Uniform":   {"v0 <", with(stream.Uniform, 0, 1)},
		"Normal":    {"v0 <", with(stream.Normal, 0, 1)},
		"Map":       {"v= < v=", with(device.Map, device.Exp, 0)},
		"MapVJP":    {"v= < v= v= v=", with(device.MapVJP, device.Exp, 0)},
		"Add":       {"m= < m= m=", with(device.Add)},
		"Sub":       {"m= < m= r0", with(device.Sub)},
		"Mul":       {"m= < r0 m=", with(device.Mul)},
		"Div":       {"m= < r0 m=", with(device.Div)},
		"Max":       {"m= < r0 m=", with(device.Max)},
		"Min":       {"m= < r0 m=", with(device.Min)},
		"Axpby":     {"v= < v= v=", with(device.Axpby, 1, 1)},
		"Convert":   {"v= < v=", with(device.Convert)},
		"Paste":     {"m0 < m", with(device.Paste, 0, 0)},
		"Cut":       {"r0 < m0", with(device.Cut, 0, 0)},
		"Gather":    {"m < m0", with(device.Gather, i(n))},
		"Scatter":   {"m0 < m", with(device.Scatter, i(n))},
		"Reduce":    {"r0 < m0", with(device.Reduce, device.Sum)},
		"ReduceDot": {"r0 < m m", with(device.ReduceDot)},
		"Gemm":      {"m < m m", func(a arguments) { device.Gemm(a[0], 1, a[1].N(), a[2].N(), 0) }},
		"Affine.Apply": {"m= < m= r?0 r?0 r?0", func(a arguments) {
			device.Affine{a[2], a[3], a[4], 0, 0}.Apply(a[0], a[1])
		}},
		"Affine.VJP": {"m= r r? < m m m= r? r? r?", func(a arguments) {
			device.Affine{a[6], a[7], a[8], 0, 0}.VJP(a[0], a[1], a[2], a[3], a[4], a[5])
		}},
		"Moments": {"r r r < m0", with(device.Moments, 1, 0)},
		"Normalised.VJP": {"m= < m= m r r r r r r?", func(a arguments) {
			device.Normalised{a[3], a[4], a[5], a[6], a[7], a[8]}.VJP(a[0], a[1], a[2], 0)
		}},
		"Conv":         {"p < p q", with(device.Conv, w)},
		"ConvInput":    {"p < p q", with(device.ConvInput, w)},
		"ConvWeight":   {"q < p p", with(device.ConvWeight, w)},
		"ConvSquares":  {"o < p1 p1", with(device.ConvSquares, w)},
		"MaxPool":      {"p < p", func(a arguments) { device.MaxPool(a[0], i(1, 1, n, n), a[1], w) }},
		"MaxPoolVJP":   {"p < p", with(device.MaxPoolVJP, i(1, 1, n, n), w)},
		"AvgPool":      {"p < p", with(device.AvgPool, w)},
		"AvgPoolVJP":   {"p < p", with(device.AvgPoolVJP, w)},
		"Nearest":      {"p23 < p23", with(device.Nearest)},
		"NearestVJP":   {"p23 < p23", with(device.NearestVJP)},
		"Bilinear":     {"p23 < p23", with(device.Bilinear, true)},
		"BilinearVJP":  {"p23 < p23", with(device.BilinearVJP, true)},
		"CrossEntropy": {"t m= < m=", with(device.CrossEntropy, i(n))},
		"ClipRows":     {"m= < m=", with(device.ClipRows, 1)},
		"StepAdam": {"v v v v < v o o", func(a arguments) {
			u := device.Update{Factor: a[5], Decay: a[6]}
			u.W, u.M, u.V, u.Average, u.G = list(a[0]), list(a[1]), list(a[2]), list(a[3]), list(a[4])
			device.StepAdam(u, i(1), device.Adam{})
		}},
		"StepSGD": {"v v v v < v v o", func(a arguments) { // two parameters
			u := device.Update{Factor: a[6]}
			u.W, u.M, u.G = a[:2], a[2:4], a[4:6]
			device.StepSGD(u, device.SGD{})
		}},
		"LSERows":    {"t < m t", with(device.LSERows, 1)},
		"LSECols":    {"t < m t", with(device.LSECols, 1)},
		"PlanRows":   {"m < m t t m", with(device.PlanRows, 1)},
		"PlanCols":   {"m < m t t m", with(device.PlanCols, 1)},
		"Costs":      {"m < m m", with(device.Costs, c)},
		"PointLSE":   {"t < m m t", with(device.PointLSE, c, 1)},
		"PointApply": {"m < m m t t m", with(device.PointApply, c, 1)},
		"PointGrad":  {"m < m m t t t t", with(device.PointGrad, c, 1, true)},
		"PointCost":  {"t < m m t t", with(device.PointCost, c, 1)},
		"Anneal":     {"r r r r < n", with(device.Anneal, []float64{1})},
	}
}

// with calls f with arguments for its arrays, in their order, and others for the rest; arrays of those come last.
func with(f any, others ...any) func(a arguments) {
	call := reflect.ValueOf(f)
	return func(a arguments) {
		rest, in := others, make([]reflect.Value, call.Type().NumIn())
		for i := range in {
			if t := call.Type().In(i); t == reflect.TypeFor[*device.Array]() && len(a) > 0 {
				in[i], a = reflect.ValueOf(a[0]), a[1:]
			} else {
				in[i], rest = reflect.ValueOf(rest[0]).Convert(t), rest[1:]
			}
		}
		call.Call(in)
	}
}

// writing is an operation.
type writing struct {
	shapes string
	call   func(a arguments)
}

// arrays splits shapes in names of arguments, of which the first are written.
func (w writing) arrays() (names []string, written int) {
	out, in, _ := strings.Cut(w.shapes, "<")
	return strings.Fields(out + in), len(strings.Fields(out))
}

// shaped makes the arguments that have these names.
func shaped(d *device.Device, n int, names []string) (a arguments) {
	shapes := map[byte][]int{
		'o': {1}, 't': {n}, 'v': {n * n}, 'r': {1, n}, 'm': {n, n}, 'n': {1, n, n},
		'p': {1, 1, n, n}, 'q': {1, 1, 1, 1},
	}
	for _, name := range names {
		a = append(a, d.Zeros(device.Float32, shapes[name[0]]...))
	}
	return a
}

// TestWrongArrays: an argument that is nil, of another type, or whose shape has an axis that is longer or one more, is
// refused, each of each operation.
func TestWrongArrays(t *testing.T) {
	d := opener(device.CPU{})(t)
	defer d.Scope().Close()
	for op, w := range writings(d, 2) {
		names, _ := w.arrays()
		for i, name := range names {
			other := func(what string, make func(shape []int) *device.Array) {
				a := shaped(d, 2, names)
				a[i] = make(slices.Clone(a[i].Shape()))
				refused(t, fmt.Sprintf("argument %d, %s", i, what), op, func() { w.call(a) })
			}
			if !strings.Contains(name, "?") {
				other("nil", func([]int) *device.Array { return nil })
			}
			if len(names) > 1 {
				other("of more axes", func(s []int) *device.Array { return d.Zeros(device.Float32, append(s, 2)...) })
				other("int32", func(s []int) *device.Array { return d.Zeros(device.Int32, s...) })
			}
			if len(names) > 1 && op != "Convert" {
				other("float64", func(s []int) *device.Array { return d.Zeros(device.Float64, s...) })
			}
			for axis := range shaped(d, 2, names[i:i+1])[0].Rank() {
				if !strings.Contains(name, strconv.Itoa(axis)) {
					other(fmt.Sprintf("longer along %d", axis), func(s []int) *device.Array {
						s[axis]++
						return d.Zeros(device.Float32, s...)
					})
				}
			}
		}
	}
	must.Do(d.Err())
}

// TestOverlaps: what an operation writes shares no memory with another of its arguments, but for those that may be one
// array. Every pair of every operation is tried: as neighbours in memory, as one array, and sharing an element.
func TestOverlaps(t *testing.T) {
	d := opener(device.CPU{})(t)
	defer d.Scope().Close()
	all := writings(d, 2)
	memory := d.Zeros(device.Float32, 64)
	for name, op := range all {
		names, written := op.arrays()
		for i := range written {
			for j := range names {
				a := shaped(d, 2, names)
				n, m := a[i].Len(), a[j].Len()
				last := 8 + n - 1
				if n == 1 {
					last = 8 - m + 1
				}
				for _, from := range []int{8 + n, last, 8} {
					a[j] = memory.Rows(from, from+m).Reshape(a[j].Shape()...)
					a[i] = memory.Rows(8, 8+n).Reshape(a[i].Shape()...)
					one := i == j || from == 8 && strings.Contains(names[i], "=") && strings.Contains(names[j], "=")
					said := panicOf(func() { op.call(a) })
					wrong := from < 8+n && !one
					if wrong && !strings.Contains(said, "shares memory") || !wrong && said != "<nil>" {
						t.Errorf("%s, arguments %d and %d, the second from %d on: panic %q", name, i, j, from-8, said)
					}
				}
			}
		}
	}
	must.Do(d.Err())
	checked := regexp.MustCompile(`(?:check|combine)\("([\w.]+)"`)
	for _, file := range must.Get(filepath.Glob("*.go")) { // no operation is missing
		for _, m := range checked.FindAllSubmatch(must.Get(os.ReadFile(file)), -1) {
			if all[string(m[1])].call == nil {
				t.Errorf("%s: %s is not tried", file, m[1])
			}
		}
	}
}

// Names lead to the GPU where there is a driver. (Operations on the emulator: internal/cuda.)
func TestOpenGPU(t *testing.T) {
	t.Setenv("COUPLING_CUDA_DRIVER", ptxsim.Build(t))
	t.Setenv("COUPLING_CUBLAS", "none")
	t.Setenv("COUPLING_DEVICE", "")
	for _, name := range []string{"cuda", "cuda:0", "auto", ""} {
		d, err := device.Open(name)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if d.Info().Kind != "cuda" || d.Note() != "" {
			t.Errorf("%q: %v, note %q: must be a GPU", name, d, d.Note())
		}
		must.Do(d.Close())
	}
	if d, err := device.Open("cuda:9"); !errors.Is(err, device.ErrNoDevice) ||
		!strings.Contains(err.Error(), "cuda:9") {
		t.Errorf("cuda:9: %v, %v: must be ErrNoDevice", d, err)
	}
	t.Setenv("COUPLING_CUDA_DRIVER", filepath.Join(t.TempDir(), "libcuda.so.1"))
	if d, err := device.Open("cuda"); !errors.Is(err, device.ErrNoDevice) ||
		!strings.Contains(err.Error(), "libcuda.so.1") {
		t.Errorf("without a driver: %v, %v: must be ErrNoDevice and name what was looked for", d, err)
	}
	d := must.Get(device.Open("auto"))
	defer d.Close()
	if d.Info().Kind != "cpu" || !strings.Contains(d.Note(), "libcuda.so.1") {
		t.Errorf("auto without a driver: %v, note %q: must be the cpu and say why", d, d.Note())
	}
}
