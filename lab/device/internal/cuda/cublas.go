package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"coupling/lab/device/internal/backend"
)

// cublas is NVIDIA's matrix products, or nil where the library is not there.
type cublas struct {
	*library
	g       *gpu
	at      []uintptr // of cublasFunctions
	handle  uintptr
	version int32
	space   *memory // its workspace, given so that it allocates none while a stream is captured
}

// The functions of the library that are used; those of float64 follow those of float32.
const (
	cublasCreate = iota
	cublasDestroy
	cublasSetStream
	cublasSetMathMode
	cublasSetWorkspace
	cublasGetVersion
	cublasGemm
	cublasDgemm
	cublasGemmStridedBatched
	cublasDgemmStridedBatched
)

// cublasFunctions are their names.
var cublasFunctions = []string{"cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2", "cublasSetMathMode",
	"cublasSetWorkspace_v2", "cublasGetVersion_v2", "cublasSgemm_v2", "cublasDgemm_v2", "cublasSgemmStridedBatched",
	"cublasDgemmStridedBatched"}

// cublasNames returns where the library is looked for: where the system has it, in Conda's
// environment, and where pip puts it beside PyTorch, in the environment that is active, the user's
// and the system's Pythons. In each place the latest comes first.
func cublasNames() (names []string) {
	places := []string{"", "/usr/local/cuda/lib64/", "/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/",
		"/usr/lib64/"}
	home, _ := os.UserHomeDir()
	conda := os.Getenv("CONDA_PREFIX")
	for _, root := range []string{os.Getenv("VIRTUAL_ENV"), conda, filepath.Join(home, ".local"),
		"/usr/local", "/usr"} {
		if root == "" {
			continue
		}
		if root == conda {
			places = append(places, conda+"/lib/")
		}
		pip, _ := filepath.Glob(filepath.Join(root, "lib", "python3*", "*-packages", "nvidia", "*", "lib"))
		for _, dir := range pip {
			places = append(places, dir+"/")
		}
	}
	for _, place := range places {
		for _, version := range []string{"13", "12", "11"} {
			names = append(names, place+"libcublas.so."+version)
		}
	}
	return names
}

// cublasAllocFailed is CUBLAS_STATUS_ALLOC_FAILED.
const cublasAllocFailed = 3

// Math modes: float32 as it is, or factors rounded to TF32 on tensor cores.
const (
	cublasDefaultMath = 0
	cublasTF32Math    = 3
)

// workspace is the size that NVIDIA recommends for Hopper; smaller GPUs do with it.
const workspace = 32 << 20

// openBLAS opens the library that the configuration names, or COUPLING_CUBLAS, or the first there is. Only a library
// that was named and does not open or work is an error.
func (g *gpu) openBLAS() (*cublas, error) {
	path := g.cfg.CuBLAS
	if path == "" {
		path = os.Getenv("COUPLING_CUBLAS")
	}
	names := cublasNames()
	switch path {
	case "none":
		return nil, nil
	case "":
	default:
		names = []string{path}
	}
	var failed []error
	for _, name := range names {
		lib, err := openLibrary([]string{name})
		if err != nil {
			failed = append(failed, fmt.Errorf("cuda: cuBLAS: %w", err))
			continue
		}
		b := &cublas{g: g, library: lib}
		if err := b.prepare(); err != nil {
			unfit := fmt.Errorf("%s: %w", name, err)
			failed = append(failed, firstOf([]error{unfit, b.close()}))
			if path == "" { // found by chance and unfit: another or our own kernels do
				g.info.Detail += ", " + unfit.Error()
			}
			continue
		}
		return b, nil
	}
	if path == "" {
		return nil, nil
	}
	return nil, firstOf(failed)
}

func (b *cublas) prepare() (err error) {
	if b.at, err = b.symbols(cublasFunctions); err != nil {
		return fmt.Errorf("cuda: cuBLAS: %w", err)
	}
	mode := uintptr(cublasDefaultMath)
	if b.g.cfg.TF32 {
		mode = cublasTF32Math
	}
	if err := b.call(cublasCreate, uintptr(unsafe.Pointer(&b.handle))); err != nil {
		b.handle = 0
		return err
	}
	if err := b.call(cublasSetStream, b.handle, b.g.stream); err != nil {
		return err
	}
	if err := b.call(cublasSetMathMode, b.handle, mode); err != nil {
		return err
	}
	if err := b.call(cublasGetVersion, b.handle, uintptr(unsafe.Pointer(&b.version))); err != nil {
		return err
	}
	if b.space, err = b.g.alloc(workspace); err != nil {
		return err
	}
	return b.call(cublasSetWorkspace, b.handle, uintptr(b.space.addr), workspace)
}

// call calls a function.
//
//go:uintptrescapes
func (b *cublas) call(function int, args ...uintptr) error {
	return b.check(strings.TrimSuffix(cublasFunctions[function], "_v2"), call(b.at[function], args...))
}

func (b *cublas) check(name string, status int32) error {
	if status == 0 {
		return nil
	}
	err := fmt.Errorf("cuda: %s: cuBLAS status %d", name, status)
	if status == cublasAllocFailed {
		err = fmt.Errorf("%w: %w", err, backend.ErrMemory)
	}
	return err
}

// tf32 is whether products round their factors: because they were asked to, or because the library obeys its own
// environment variable before its caller.
func (b *cublas) tf32() bool {
	if b == nil {
		return false
	}
	switch os.Getenv("NVIDIA_TF32_OVERRIDE") {
	case "0":
		return false
	case "":
		return b.g.cfg.TF32
	}
	return true
}

// String names the library that multiplies.
func (b *cublas) String() string {
	if b == nil {
		return "own kernels"
	}
	tf32 := ""
	if b.tf32() {
		tf32 = " in TF32"
	}
	return fmt.Sprintf("cuBLAS %d%s (%s)", b.version, tf32, b.path)
}

// takes reports whether the library can do a product.
func (b *cublas) takes(p *product) bool { return b != nil && p.fits() }

// gemm hands a product to the library, which counts columns first: a row-major matrix is the transpose there, so that
// cᵀ = op(b)ᵀ·op(a)ᵀ is asked for.
func (b *cublas) gemm(c tensor, pa, pb arg, p *product) error {
	to := array(c)
	for _, m := range []*memory{to.mem, pa.mem, pb.mem, b.space} {
		b.g.touch(m)
	}
	// The factors are read from the host's memory before the call returns, in the type of the product.
	alpha64, beta64 := p.Alpha, p.Beta
	alpha32, beta32 := float32(p.Alpha), float32(p.Beta)
	alpha, beta, double := unsafe.Pointer(&alpha32), unsafe.Pointer(&beta32), 0
	if c.Type == backend.Float64 {
		alpha, beta, double = unsafe.Pointer(&alpha64), unsafe.Pointer(&beta64), 1
	}
	ta, tb := uintptr(p.TransB), uintptr(p.TransA)
	m, n, k := uintptr(p.N), uintptr(p.M), uintptr(p.K)
	name, status := "cublasGemm", int32(0)
	if p.Batch == 1 {
		status = call(b.at[cublasGemm+double], b.handle, ta, tb, m, n, k, uintptr(alpha), uintptr(pb.bits),
			uintptr(p.LDB), uintptr(pa.bits), uintptr(p.LDA), uintptr(beta), uintptr(to.bits), uintptr(p.LDC))
	} else {
		name = "cublasGemmStridedBatched"
		status = call(b.at[cublasGemmStridedBatched+double], b.handle, ta, tb, m, n, k, uintptr(alpha),
			uintptr(pb.bits), uintptr(p.LDB), uintptr(p.StepB), uintptr(pa.bits), uintptr(p.LDA), uintptr(p.StepA),
			uintptr(beta), uintptr(to.bits), uintptr(p.LDC), uintptr(p.StepC), uintptr(p.Batch))
	}
	b.g.note(name)
	b.g.ran(pa.all+pb.all+to.all, p.flop())
	return b.check(fmt.Sprintf("%s %d×%d×%d", name, p.M, p.N, p.K), status)
}

// close gives back what prepare got, all or part of it.
func (b *cublas) close() error {
	var errs []error
	if b.handle != 0 {
		errs = append(errs, b.call(cublasDestroy, b.handle))
	}
	if b.space != nil {
		errs = append(errs, b.g.release(b.space))
	}
	return firstOf(errs)
}
