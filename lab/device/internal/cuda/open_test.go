package cuda

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coupling/lab/device/internal/backend"
	"coupling/lab/device/internal/cuda/ptxsim"
	"coupling/lab/must"
)

// wants demands an error that wraps a sentinel and has the words.
func wants(t *testing.T, err, sentinel error, words ...string) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Fatalf("%v: must wrap %v", err, sentinel)
	}
	says(t, err, words...)
}

// says demands an error that has the words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not say %q", err, w)
		}
	}
}

func TestNoDriver(t *testing.T) {
	_, err := Open(Config{Driver: "/nowhere/libcuda.so.1"})
	wants(t, err, backend.ErrNoDevice, "/nowhere/libcuda.so.1", "COUPLING_CUDA_DRIVER")
	t.Setenv("COUPLING_CUDA_DRIVER", "/elsewhere/libcuda.so.1")
	_, err = Open(Config{})
	wants(t, err, backend.ErrNoDevice, "/elsewhere/libcuda.so.1")
}

func TestNotADriver(t *testing.T) {
	_, err := Open(Config{Driver: "libc.so.6"})
	wants(t, err, backend.ErrNoDevice, "cuInit", "libc.so.6", "11.4")
}

func TestUnfitDevices(t *testing.T) {
	for _, c := range []struct {
		env, value string
		ordinal    int
		words      []string
	}{
		{"PTXSIM_DEVICES", "0", 0, []string{"no GPU", "cuInit", "CUDA_ERROR_NO_DEVICE"}},
		{"PTXSIM_DEVICES", "2", 2, []string{"ordinal = 2", "2 GPUs"}},
		{"PTXSIM_DEVICES", "1", -1, []string{"ordinal = -1"}},
		{"PTXSIM_VERSION", "11020", 0, []string{"11.2", "too old", "11.4"}},
		{"PTXSIM_CAPABILITY", "75", 0, []string{"7.5", "too old", "8.0"}},
	} {
		t.Run(c.env+"="+c.value, func(t *testing.T) {
			path := ptxsim.Build(t)
			t.Setenv(c.env, c.value)
			_, err := Open(Config{Driver: path, Ordinal: c.ordinal})
			wants(t, err, backend.ErrNoDevice, append(c.words, path)...)
		})
	}
}

func TestInfo(t *testing.T) {
	r := newRig(t, Config{})
	i := r.g.Info()
	if i.Kind != "cuda" || i.Name != "Emulator of PTX" || !strings.Contains(i.Detail, "8.0") ||
		!strings.Contains(i.Detail, "own kernels") || i.Units != 4 || i.ClockMHz != 1500 {
		t.Errorf("%+v", i)
	}
	free, total, err := r.g.MemInfo()
	r.ok(err)
	if free <= 0 || free > total || total != 4<<30 {
		t.Errorf("%d of %d free", free, total)
	}
}

// TestTF32 is in Info where products round, which cuBLAS may be told by the environment.
func TestTF32(t *testing.T) {
	path := ptxsim.Build(t)
	for _, c := range []struct {
		override, cublas string
		asked, want      bool
	}{
		{"", path, false, false}, {"", path, true, true}, {"1", path, false, true}, {"0", path, true, false},
		{"1", "none", true, false},
	} {
		t.Setenv("NVIDIA_TF32_OVERRIDE", c.override)
		b := must.Get(Open(Config{Driver: path, CuBLAS: c.cublas, TF32: c.asked}))
		if i := b.Info(); i.TF32 != c.want || strings.Contains(i.Detail, "in TF32") != c.want {
			t.Errorf("%+v: %+v", c, i)
		}
		must.Do(b.Close())
	}
}

// TestEveryMemoryError is ErrMemory, whichever call found no memory; what the GPU could never hold is not asked for.
func TestEveryMemoryError(t *testing.T) {
	r := newRig(t, Config{})
	wants(t, fmt.Errorf("x: %w", r.g.failure("cuModuleLoadDataEx dense", cudaErrorMemory)), backend.ErrMemory,
		"CUDA_ERROR_OUT_OF_MEMORY")
	if err := r.g.failure("cuModuleLoadDataEx dense", 200); errors.Is(err, backend.ErrMemory) {
		t.Error(err)
	}
	wants(t, (*cublas)(nil).check("cublasCreate", cublasAllocFailed), backend.ErrMemory, "cublasCreate")
	if err := (*cublas)(nil).check("cublasCreate", 1); errors.Is(err, backend.ErrMemory) {
		t.Error(err)
	}
	_, total, err := r.g.MemInfo()
	r.ok(err)
	for _, bytes := range []int64{total + 1, math.MaxInt64} {
		_, err := r.g.Alloc(bytes)
		wants(t, err, backend.ErrMemory, strconv.FormatInt(bytes, 10))
		if strings.Contains(err.Error(), "cuMemAlloc") {
			t.Errorf("the driver was asked: %v", err)
		}
	}
}

func TestClosed(t *testing.T) {
	b := must.Get(Open(Config{Driver: ptxsim.Build(t)}))
	must.Do(b.Close())
	for _, err := range []error{b.Sync(), b.Close()} {
		says(t, err, "closed")
	}
}

func TestNamedCuBLASMustBeThere(t *testing.T) {
	path := ptxsim.Build(t)
	_, err := Open(Config{Driver: path, CuBLAS: "/nowhere/libcublas.so"})
	says(t, err, "/nowhere/libcublas.so")
	_, err = Open(Config{Driver: path, CuBLAS: "libc.so.6"})
	says(t, err, "cublasCreate_v2")
}

// TestNothingLeft: what two devices took of the context that they share is given back, whoever closes first.
func TestNothingLeft(t *testing.T) {
	first := newCachingRig(t, Config{CuBLAS: ptxsim.Build(t)})
	before, _, err := first.g.MemInfo()
	first.ok(err)
	second, err := Open(Config{Driver: first.g.path, CuBLAS: first.g.path})
	first.ok(err)
	m, err := second.Alloc(12345)
	first.ok(err)
	first.ok(second.Free(m))
	first.ok(second.Close())
	if after, _, err := first.g.MemInfo(); err != nil || after != before {
		t.Errorf("%d bytes free, before %d (%v)", after, before, err)
	}
}

// TestAnotherCuBLAS: the library that pip brought beside PyTorch is found, and one that opens and
// is unfit does not hide the next.
func TestAnotherCuBLAS(t *testing.T) {
	path := ptxsim.Build(t)
	env := t.TempDir()
	pip := filepath.Join(env, "lib", "python3.12", "site-packages", "nvidia", "cublas", "lib")
	must.Do(os.MkdirAll(pip, 0o777))
	unfit, err := filepath.Glob("/lib*/*/libc.so.6")
	if err != nil || len(unfit) == 0 {
		t.Skipf("no libc to take for cuBLAS: %v", err)
	}
	for name, to := range map[string]string{"libcublas.so.13": unfit[0], "libcublas.so.12": path} {
		must.Do(os.Symlink(to, filepath.Join(pip, name)))
	}
	t.Setenv("VIRTUAL_ENV", env)
	t.Setenv("COUPLING_CUBLAS", "")
	b := must.Get(Open(Config{Driver: path}))
	if said := b.Info().Detail; !strings.Contains(said, "products by cuBLAS") ||
		!strings.Contains(said, "libcublas.so.13: ") {
		t.Error(said)
	}
	must.Do(b.Close())
}
