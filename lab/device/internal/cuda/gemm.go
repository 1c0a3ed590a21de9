package cuda

import (
	"math"

	"coupling/lab/device/internal/backend"
)

// product is the struct Product of gemm.cu.
type product struct {
	M, N, K, LDA, LDB, LDC, StepA, StepB, StepC int64
	Chunk                                       int64
	TransA, TransB, Splits, Batch               int32
	TilesN                                      div
	Alpha, Beta                                 float64
}

// newProduct reads sizes from shapes. A factor of first size 1 is shared by the batch: its step is 0.
func newProduct(c tensor, alpha float64, a tensor, transA bool, b tensor, transB bool,
	beta float64) product {
	r := len(c.Shape)
	p := product{Alpha: alpha, Beta: beta, Batch: 1, Splits: 1}
	p.M, p.N = int64(c.Shape[r-2]), int64(c.Shape[r-1])
	p.LDA, p.LDB, p.LDC = int64(a.Shape[r-1]), int64(b.Shape[r-1]), p.N
	p.K = int64(a.Shape[r-1])
	if transA {
		p.K, p.TransA = int64(a.Shape[r-2]), 1
	}
	if transB {
		p.TransB = 1
	}
	p.Chunk = p.K
	if r == 3 {
		p.Batch = int32(c.Shape[0])
		p.StepA, p.StepB, p.StepC = matrixStep(a), matrixStep(b), p.M*p.N
	}
	return p
}

func matrixStep(t tensor) int64 {
	if t.Shape[0] == 1 {
		return 0
	}
	return int64(t.Shape[1]) * int64(t.Shape[2])
}

// Gemm is c = alpha·op(a)·op(b) + beta·c.
func (g *gpu) Gemm(c tensor, alpha float64, a tensor, transA bool, b tensor, transB bool, beta float64) {
	p := newProduct(c, alpha, a, transA, b, transB, beta)
	switch {
	case p.M == 0 || p.N == 0 || p.Batch == 0 || g.err != nil:
	case p.K > 0 && g.blas.takes(&p):
		g.keep(g.blas.gemm(c, array(a), array(b), &p))
	default:
		g.ownGemm(c, a, b, p)
	}
}

// tile is the sides of the square tiles of gemm.cu, big and small.
func tile(t backend.DType) (big, small int64) {
	if t == backend.Float64 {
		return 64, 32
	}
	return 128, 64
}

// ownGemm takes big tiles where they fill a GPU, small ones else, and splits long products of few tiles along k. What
// it takes depends on sizes alone.
func (g *gpu) ownGemm(c, a, b tensor, p product) {
	const shortest = 256 // split
	fill := int64(g.limits.fill)
	side, small := tile(c.Type)
	name := "gemm_big"
	count := func(side int64) int64 { return ((p.M + side - 1) / side) * ((p.N + side - 1) / side) * int64(p.Batch) }
	if count(side) < fill {
		side, name = small, "gemm_small"
	}
	if tiles := count(side); tiles < fill {
		splits := max(1, min(fill/tiles, p.K/shortest))
		p.Chunk = max(1, (p.K+splits-1)/splits)
		p.Splits = int32(max(1, (p.K+p.Chunk-1)/p.Chunk))
	}
	tilesM, tilesN := (p.M+side-1)/side, (p.N+side-1)/side
	p.TilesN = divBy(int(tilesN))
	each, bytes := int(p.M*p.N), 0
	if p.Splits > 1 {
		bytes = each * int(p.Batch) * int(p.Splits) * c.Type.Size()
	}
	parts := g.borrow(bytes)
	size := grid{x: int(tilesM * tilesN), z: min(int(p.Batch)*int(p.Splits), g.limits.rows)}
	g.launchOf("gemm", name, c, size, c, a, b, parts, record(&p))
	if p.Splits > 1 {
		blocks := grid{x: min((each+255)/256, g.limits.blocks), y: min(int(p.Batch), g.limits.rows)}
		g.launchOf("gemm", "gemm_join", c, blocks, c, parts, int(p.Batch), each, int(p.Splits), p.Alpha, p.Beta)
	}
}

// flop is the operations of the product.
func (p *product) flop() float64 {
	return 2 * float64(p.M) * float64(p.N) * float64(p.K) * float64(p.Batch)
}

// fits reports whether every number can be a C int.
func (p *product) fits() bool {
	for _, v := range []int64{p.M, p.N, p.K, p.LDA, p.LDB, p.LDC} {
		if v > math.MaxInt32 {
			return false
		}
	}
	return true
}
