package device_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"coupling/lab/device"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

// Wrong arguments panic before anything is done, and the message names the operation.
func TestWrongArguments(t *testing.T) {
	d := opener(device.CPU{})(t)
	defer d.Scope().Close()
	f := func(shape ...int) *device.Array { return d.Zeros(device.Float32, shape...) }
	g := func(shape ...int) *device.Array { return d.Zeros(device.Float64, shape...) }
	i := func(shape ...int) *device.Array { return d.Zeros(device.Int32, shape...) }
	list := func(sizes ...int) (all []*device.Array) {
		for _, n := range sizes {
			all = append(all, f(n))
		}
		return all
	}
	s := d.Stream(1)
	window := device.SquareWindow(3, 1, 1)
	seven := []int{1, 1, 1, 1, 1, 1, 1}
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
		"Fill":      {func() { device.Fill(nil, 1) }},
		"Map": {
			func() { device.Map(f(3), f(4), device.Exp, 0) }, func() { device.Map(f(3), g(3), device.Exp, 0) },
			func() { device.Map(i(3), i(3), device.Exp, 0) }, func() { device.Map(f(3), nil, device.Exp, 0) },
			func() { device.Map(f(3), f(3), device.Step+1, 0) },
		},
		"MapVJP": {
			func() { device.MapVJP(f(3), f(3), f(2), f(3), device.Exp, 0) },
			func() { device.MapVJP(f(3), f(3), f(3), f(3), device.Step+1, 0) },
		},
		"Add": {
			func() { device.Add(f(3), f(3), f(2)) }, func() { device.Add(f(1), f(3), f(3)) },
			func() { device.Add(f(3, 1), f(3), f(3, 1)) }, func() { device.Add(f(seven...), f(seven...), f(seven...)) },
		},
		"Axpby":   {func() { device.Axpby(f(3), 1, f(3), 1, f(1)) }},
		"Convert": {func() { device.Convert(f(3), i(3)) }, func() { device.Convert(f(3), f(3, 1)) }},
		"Paste": {func() { device.Paste(f(3, 2), f(2, 2), 0, 2) }, func() { device.Paste(f(3, 2), f(2, 1), 0, 0) },
			func() { device.Paste(f(3), f(1), 1, 0) }},
		"Cut": {func() { device.Cut(f(2), f(3), 0, -1) }, func() { device.Cut(f(4), f(3), 0, 0) }},
		"Gather": {
			func() { device.Gather(f(2, 3), f(4, 2), i(2)) }, func() { device.Gather(f(2, 3), f(4, 3), i(3)) },
			func() { device.Gather(f(2, 3), f(4, 3), f(2)) },
		},
		"Scatter": {func() { device.Scatter(f(4, 3), f(2, 3), i(2, 1)) }},
		"Reduce": {
			func() { device.Reduce(f(2), f(3), device.Sum) }, func() { device.Reduce(f(1), f(3, 1), device.Sum) },
			func() { device.Reduce(f(1), f(3), device.LogSumExp+1) },
		},
		"ReduceDot": {func() { device.ReduceDot(f(1), f(3), f(1)) }},
		"Affine.Apply": {
			func() { device.Affine{Scale: f(3, 2, 1)}.Apply(f(3, 2), f(3, 2)) },
			func() { device.Affine{}.Apply(f(3, 2), f(3)) },
			func() { device.Affine{Func: device.Step + 1}.Apply(f(3), f(3)) },
		},
		"Affine.VJP": {
			func() { device.Affine{Shift: f(3, 1)}.VJP(f(3, 2), f(1, 2), nil, f(3, 2), f(3, 2), f(3, 2)) },
			func() { device.Affine{}.VJP(f(3, 2), f(1, 2), f(3, 1), f(3, 2), f(3, 2), f(3, 2)) },
		},
		"Moments": {func() { device.Moments(f(3, 1), f(3, 1), f(1, 2), f(3, 2), 0, 0) }},
		"Normalised.VJP": {func() {
			device.Normalised{
				Mean:  f(3, 1),
				Rstd:  f(3, 1),
				Scale: f(3, 1),
				Sum:   f(3, 1),
				Along: f(1, 2),
			}.VJP(f(3, 2), f(3, 2), f(3, 2), 0)
		}},
		"Gemm": {
			func() { device.Gemm(f(2, 3), 1, f(2, 4).N(), f(4, 3).T(), 0) },
			func() { device.Gemm(f(6), 1, f(6).N(), f(6).N(), 0) },
			func() { device.Gemm(f(2, 2, 2), 1, f(3, 2, 2).N(), f(2, 2, 2).N(), 0) },
			func() { device.Gemm(f(2, 2), 1, f(1, 2, 2).N(), f(2, 2).N(), 0) },
			func() { device.Gemm(f(2, 2), 1, device.Factor{}, f(2, 2).N(), 0) },
		},
		"Conv":       {func() { device.Conv(f(1, 1, 3, 3), f(1, 1, 3, 4), f(1, 1, 3, 3), window) }},
		"ConvWeight": {func() { device.ConvWeight(f(1, 2, 3, 3), f(1, 1, 3, 3), f(1, 1, 3, 3), window) }},
		"window": {func() { device.SquareWindow(4, 1, 0).Out(3, 5) },
			func() { device.SquareWindow(2, 1, -1).Out(3, 5) }},
		"MaxPool": {
			func() { device.MaxPool(f(1, 1, 3, 3), i(1, 1, 3, 2), f(1, 1, 3, 3), window) },
			func() { device.MaxPool(f(1, 1, 7, 7), i(1, 1, 7, 7), f(1, 1, 3, 3), device.SquareWindow(3, 1, 3)) },
			func() { // the two elements of the only window straddle the plane
				w := device.Window{Kernel: [2]int{2, 1}, Pad: [2]int{1, 0}, Dilation: [2]int{3, 1}}
				device.MaxPool(f(1, 1, 1, 2), i(1, 1, 1, 2), f(1, 1, 2, 2), w)
			},
		},
		"AvgPool": {func() { device.AvgPool(f(1, 1, 3, 3), f(1, 2, 3, 3), window) }},
		"Nearest": {func() { device.Nearest(f(1, 2, 3, 3), f(1, 1, 3, 3)) },
			func() { device.Nearest(f(1, 1, 3, 3), f(1, 1, 0, 3)) }},
		"Bilinear": {func() { device.Bilinear(f(1, 1, 9), f(1, 1, 3, 3), true) }},
		"Uniform":  {func() { s.Uniform(i(3), 0, 1) }},
		"Normal":   {func() { s.Normal(nil, 0, 1) }},
		"CrossEntropy": {
			func() { device.CrossEntropy(f(3), f(3, 2), f(3, 2), i(2)) },
			func() { device.CrossEntropy(f(3, 1), f(3, 2), f(3, 2), i(3)) },
			func() { device.CrossEntropy(f(3), f(3, 2), f(3, 2), f(3)) },
		},
		"ClipRows": {
			func() { device.ClipRows(f(3, 2), f(3, 2), 0) }, func() { device.ClipRows(f(6), f(6), 1) },
			func() { device.ClipRows(f(3, 2), f(3, 2), -1) },
		},
		"StepAdam": {
			func() {
				device.StepAdam(device.Update{
					W:      list(3),
					G:      list(3),
					M:      list(3),
					V:      list(3),
					Factor: f(1),
				}, i(2), device.Adam{})
			},
			func() {
				device.StepAdam(device.Update{
					W:      list(3),
					G:      list(3),
					M:      list(2),
					V:      list(3),
					Factor: f(1),
				}, i(1), device.Adam{})
			},
			func() {
				device.StepAdam(device.Update{W: list(3), G: list(3), M: list(3), Factor: f(1)}, i(1), device.Adam{})
			},
			func() {
				device.StepAdam(device.Update{
					W:      list(3),
					G:      list(3),
					M:      list(3),
					V:      list(3),
					Factor: f(2),
				}, i(1), device.Adam{})
			},
			func() {
				device.StepAdam(device.Update{
					W:      list(3),
					G:      list(3),
					M:      list(3),
					V:      list(3),
					Factor: f(1),
					Clip:   -1,
				}, i(1), device.Adam{})
			},
		},
		"StepSGD": {
			func() { device.StepSGD(device.Update{W: list(3), G: list(4), M: list(3), Factor: f(1)}, device.SGD{}) },
			func() {
				device.StepSGD(device.Update{
					W:       list(3),
					G:       list(3),
					M:       list(3),
					Average: list(3),
					Factor:  f(1),
				}, device.SGD{})
			},
			func() {
				device.StepSGD(device.Update{
					W:       list(3),
					G:       list(3),
					M:       list(3),
					Average: list(3, 3),
					Decay:   f(2),
					Factor:  f(1),
				}, device.SGD{})
			},
		},
		"LSERows": {func() { device.LSERows(f(2), f(2, 3), f(2), 1) }, func() { device.LSERows(f(2), f(6), f(3), 1) },
			func() { device.LSERows(f(2), f(4, 2, 3), f(4, 3), 1) }},
		"LSECols":  {func() { device.LSECols(f(2), f(2, 3), f(2), 1) }},
		"PlanRows": {func() { device.PlanRows(f(2, 1), f(2, 3), f(2), f(3), f(2, 1), 1) }},
		"PlanCols": {func() { device.PlanCols(f(3, 1), f(2, 3), f(2), f(3), f(3, 1), 1) }},
		"Costs":    {func() { device.Costs(f(2, 3), f(2, 4), f(3, 5), device.Cost{Square: 1}) }},
		"PointLSE": {func() { device.PointLSE(f(2), f(2, 4), f(3, 4), f(2), device.Cost{}, 1) }},
		"PointApply": {
			func() { device.PointApply(f(2, 1), f(2, 4), f(3, 4), f(2), f(3), f(2, 1), device.Cost{}, 1) },
		},
		"PointGrad": {func() {
			device.PointGrad(f(2, 3), f(2, 4), f(3, 4), f(2), f(3), f(2), f(3), device.Cost{}, 1, true)
		}},
		"PointCost": {func() { device.PointCost(f(3), f(2, 4), f(3, 4), f(2), f(3), device.Cost{}, 1) }},
	}
	for op, wrong := range calls {
		for n, call := range wrong {
			message := panicOf(call)
			if !strings.HasPrefix(message, "device: ") || !strings.Contains(message, op) {
				t.Errorf("%s, call %d: panic %q: must name the operation", op, n, message)
			}
		}
	}
	if err := d.Err(); err != nil {
		t.Errorf("mistakes of the program are no errors of the device: %v", err)
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

// What an operation writes shares no memory with what it reads, unless its description says that both may be one array.
func TestOverlaps(t *testing.T) {
	d := opener(device.CPU{})(t)
	defer d.Scope().Close()
	all := d.Zeros(device.Float32, 64)
	at := func(from int, shape ...int) *device.Array { // a view of all
		n := 1
		for _, s := range shape {
			n *= s
		}
		return all.Rows(from, from+n).Reshape(shape...)
	}
	f := func(shape ...int) *device.Array { return d.Zeros(device.Float32, shape...) }
	i := func(shape ...int) *device.Array { return d.Zeros(device.Int32, shape...) }
	v, m, c, one := at(1, 4), at(1, 2, 2), device.Cost{Square: 1}, device.SquareWindow(1, 1, 0)
	p, own, ownP := at(1, 1, 1, 2, 2), f(2, 2), f(1, 1, 2, 2)
	for name, call := range map[string]func(){
		"Map":            func() { device.Map(at(0, 4), v, device.Exp, 0) },
		"MapVJP":         func() { device.MapVJP(at(2, 4), f(4), f(4), v, device.Exp, 0) },
		"Add":            func() { device.Add(at(0, 2, 2), own, m) },
		"its row":        func() { device.Mul(m, own, m.Rows(0, 1)) },
		"Axpby":          func() { device.Axpby(at(4, 4), 1, v, 1, f(4)) },
		"Convert":        func() { device.Convert(at(0, 4), v) },
		"Paste":          func() { device.Paste(m, m, 0, 0) },
		"Cut":            func() { device.Cut(m.Rows(1, 2), m, 0, 0) },
		"Gather":         func() { device.Gather(m, m, i(2)) },
		"Scatter":        func() { device.Scatter(m, m, i(2)) },
		"Reduce":         func() { device.Reduce(m.Rows(0, 1), m, device.Sum) },
		"ReduceDot":      func() { device.ReduceDot(m.Rows(0, 1), own, m) },
		"Gemm":           func() { device.Gemm(m, 1, own.N(), m.N(), 0) },
		"Affine.Apply":   func() { device.Affine{Shift: m}.Apply(m, own) },
		"Affine.VJP":     func() { device.Affine{Scale: m}.VJP(f(2, 2), f(2, 2), m, f(2, 2), f(2, 2), f(2, 2)) },
		"Moments":        func() { device.Moments(f(2, 2), m, f(2, 2), m, 1, 0) },
		"Normalised.VJP": func() { device.Normalised{own, own, own, own, own, m}.VJP(m, f(2, 2), f(2, 2), 0) },
		"Conv":           func() { device.Conv(p, p, f(1, 1, 1, 1), one) },
		"ConvInput":      func() { device.ConvInput(p, p, f(1, 1, 1, 1), one) },
		"ConvWeight":     func() { device.ConvWeight(at(1, 1, 1, 1, 1), p, ownP, one) },
		"ConvSquares":    func() { device.ConvSquares(at(1, 1), p, ownP, one) },
		"MaxPool":        func() { device.MaxPool(p, i(1, 1, 2, 2), p, one) },
		"MaxPoolVJP":     func() { device.MaxPoolVJP(p, p, i(1, 1, 2, 2), one) },
		"AvgPool":        func() { device.AvgPool(p, p, one) },
		"AvgPoolVJP":     func() { device.AvgPoolVJP(p, p, one) },
		"Nearest":        func() { device.Nearest(p, p) },
		"NearestVJP":     func() { device.NearestVJP(p, p) },
		"Bilinear":       func() { device.Bilinear(p, p, true) },
		"BilinearVJP":    func() { device.BilinearVJP(p, p, true) },
		"CrossEntropy":   func() { device.CrossEntropy(at(1, 2), f(2, 2), m, i(2)) },
		"ClipRows":       func() { device.ClipRows(at(2, 2, 2), m, 1) },
		"StepSGD": func() {
			device.StepSGD(device.Update{
				W:      []*device.Array{v},
				G:      []*device.Array{f(4)},
				M:      []*device.Array{v},
				Factor: f(1),
			}, device.SGD{})
		},
		"LSERows":    func() { device.LSERows(at(1, 2), m, f(2), 1) },
		"LSECols":    func() { device.LSECols(at(1, 2), f(2, 2), at(1, 2), 1) },
		"PlanRows":   func() { device.PlanRows(m, own, f(2), f(2), m, 1) },
		"PlanCols":   func() { device.PlanCols(m, own, at(2, 2), f(2), own, 1) },
		"Costs":      func() { device.Costs(m, m, own, c) },
		"PointLSE":   func() { device.PointLSE(at(1, 2), own, own, at(1, 2), c, 1) },
		"PointApply": func() { device.PointApply(m, own, own, f(2), f(2), m, c, 1) },
		"PointGrad":  func() { device.PointGrad(m, m, own, f(2), f(2), f(2), f(2), c, 1, true) },
		"PointCost":  func() { device.PointCost(at(1, 2), m, own, f(2), f(2), c, 1) },
		"Anneal":     func() { device.Anneal(f(1, 2), f(1, 2), f(1, 2), at(1, 1, 2), at(1, 1, 2, 2), []float64{1}) },
	} {
		if said := panicOf(call); !strings.Contains(said, "shares memory") {
			t.Errorf("%s: panic %q: must say that memory is shared", name, said)
		}
	}
	device.Map(v, v, device.Exp, 0) // may be one array
	device.Axpby(v, 1, v, 1, v)
	device.Add(m, m, own.Rows(0, 1))
	device.Map(at(0, 4), at(4, 4), device.Exp, 0) // neighbours
	must.Do(d.Err())
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
