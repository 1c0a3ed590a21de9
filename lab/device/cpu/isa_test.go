package cpu

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		value string
		best  ISA
		want  ISA
	}{
		{"", AVX512, AVX512}, {"", Generic, Generic}, {"auto", AVX2, AVX2}, {"generic", AVX512, Generic},
		{"avx2", AVX512, AVX2}, {"avx2", AVX2, AVX2}, {"avx512", AVX512, AVX512},
	} {
		if got, err := choose(c.value, c.best); got != c.want || err != nil {
			t.Errorf("choose(%q, %v) = %v, %v, want %v", c.value, c.best, got, err, c.want)
		}
	}
	for _, c := range []struct {
		value string
		best  ISA
	}{{"avx512", AVX2}, {"avx2", Generic}, {"AVX2", AVX512}, {"sse", AVX512}, {"avx512 ", AVX512}, {"ISA(7)", AVX512}} {
		got, err := choose(c.value, c.best)
		if got != refused || !errors.Is(err, ErrISA) || !strings.Contains(err.Error(), strings.TrimSpace(c.value)) {
			t.Errorf("choose(%q, %v) = %v, %v, want an error that names the value", c.value, c.best, got, err)
		}
	}
}

func TestAvailable(t *testing.T) {
	isas := Available()
	if isas[0] != Generic || isas[len(isas)-1] != best || !slices.IsSorted(isas) {
		t.Errorf("Available() = %v, best %v", isas, best)
	}
	if isa, err := Active(); err != nil || !slices.Contains(isas, isa) || Name() != isa.String() {
		t.Errorf("Active() = %v, %v, Name() = %q with %v", isa, err, Name(), isas)
	}
	if best == AVX512 && !slices.Contains(Features(), "avx512f") {
		t.Errorf("Features() = %v without avx512f", Features())
	}
	t.Log(Describe())
}

// A kernel of an instruction set that is not there must panic, not crash.
func TestRefused(t *testing.T) {
	for _, isa := range []ISA{refused, AVX512 + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Kernels{%v}.Sum did not panic", isa)
				}
			}()
			Kernels[float64]{isa}.Sum([]float64{1})
		}()
	}
}

func TestLengths(t *testing.T) {
	var k Kernels[float64]
	var mixed Mixed
	x, y, x32 := make([]float64, 3), make([]float64, 4), make([]float32, 3)
	for name, f := range map[string]func(){
		"Exp": func() { k.Exp(x, y) }, "Dot": func() { k.Dot(x, y) }, "RowExp": func() { k.RowExp(x, x, y, 1) },
		"RowExpAt": func() { k.RowExpAt(y, x, x, 1, 0) }, "Gemv": func() { k.Gemv(x, y, 2, x[:2]) },
		"PointRowLSE": func() { k.PointRowLSE(x, x[:2], y, Cost[float64]{Square: 1}, 1) },
		"ColAdd":      func() { k.ColAdd(x, x, y, 0, 1) }, "stride": func() { k.GemvT(x, y, 2, x[:1]) },
		"Narrow": func() { mixed.Narrow(x32, 1, y) }, "Mixed.Dot": func() { mixed.Dot(x32, y) },
		"Mixed.Axpy": func() { mixed.Axpy(y, 1, x32) }, "Mixed.Gemv": func() { mixed.Gemv(x, x32, 3, x) },
		"Mixed.GemvT": func() { mixed.GemvT(x, x32, 2, x) }, "Chunks": func() { _ = Chunks(t.Context(), 1, 0, nil) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "cpu: ") {
					t.Errorf("%s with wrong lengths panicked with %q, want a message from cpu", name, s)
				}
			}()
			f()
		}()
	}
}
