package cpu

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./internal/gen

// An ISA is an instruction set for which the kernels exist.
type ISA uint8

// The instruction sets, each a superset of the one before.
const (
	Auto    ISA = iota // what COUPLING_CPU says, else the best of this machine
	Generic            // plain Go
	AVX2               // AVX2, FMA and BMI2: 256-bit vectors
	AVX512             // AVX-512 F, DQ, VL and BW: 512-bit vectors
)

// refused stands for a COUPLING_CPU that cannot be obeyed.
const refused ISA = 255

// ErrISA is wrapped by every error about an instruction set that is unknown or
// that this machine lacks.
var ErrISA = errors.New("instruction set not available")

var isaNames = map[ISA]string{Auto: "auto", Generic: "generic", AVX2: "avx2", AVX512: "avx512"}

// String returns the name that COUPLING_CPU takes.
func (i ISA) String() string {
	if s, ok := isaNames[i]; ok {
		return s
	}
	return fmt.Sprintf("ISA(%d)", uint8(i))
}

// These are decided once, when the program starts, and never change.
var (
	best              = detect()
	active, errActive = choose(os.Getenv("COUPLING_CPU"), best)
)

func detect() ISA {
	x := cpu.X86
	switch {
	case runtime.GOARCH != "amd64" || !x.HasAVX2 || !x.HasFMA || !x.HasBMI2:
		return Generic
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512BW:
		return AVX512
	default:
		return AVX2
	}
}

// choose reads the value of COUPLING_CPU on a machine whose best is given.
func choose(value string, best ISA) (ISA, error) {
	switch value {
	case "", "auto":
		return best, nil
	case "generic", "avx2", "avx512":
		for isa, name := range isaNames {
			if name == value && isa <= best {
				return isa, nil
			}
		}
		return refused, fmt.Errorf("cpu: COUPLING_CPU = %s: %w on this machine, whose best is %s", value, ErrISA, best)
	default:
		return refused, fmt.Errorf("cpu: COUPLING_CPU = %q: %w: want auto, generic, avx2 or avx512", value, ErrISA)
	}
}

// Active returns the instruction set that Kernels with a zero ISA use, or an
// error, wrapping ErrISA, that names the mistake in COUPLING_CPU. Programs
// call it once before the first kernel; kernels themselves panic with the same
// error.
func Active() (ISA, error) { return active, errActive }

// Available lists the instruction sets of this machine, Generic first,
// whatever COUPLING_CPU says.
func Available() []ISA {
	out := []ISA{Generic}
	for isa := AVX2; isa <= best; isa++ {
		out = append(out, isa)
	}
	return out
}

// Name returns the name of the instruction set in use: "generic", "avx2" or
// "avx512", or "refused" where Active returns an error.
func Name() string {
	if errActive != nil {
		return "refused"
	}
	return active.String()
}

// Features lists what this machine has of the instruction-set extensions that
// kernels are chosen by, in the order in which they are asked for. It is empty
// on machines that are not amd64.
func Features() []string {
	x := cpu.X86
	var out []string
	for _, f := range []struct {
		has  bool
		name string
	}{
		{x.HasAVX2, "avx2"}, {x.HasFMA, "fma"}, {x.HasBMI2, "bmi2"}, {x.HasAVX512F, "avx512f"},
		{x.HasAVX512DQ, "avx512dq"}, {x.HasAVX512VL, "avx512vl"}, {x.HasAVX512BW, "avx512bw"},
	} {
		if f.has {
			out = append(out, f.name)
		}
	}
	return out
}

// Describe is one line for reports: the instruction set in use, the
// architecture and the features.
func Describe() string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s) %s", Name(), runtime.GOARCH, strings.Join(Features(), " ")))
}
