package cpu_test

import (
	"fmt"
	"math"

	"coupling/lab/device/cpu"
)

// One evaluation of the semi-dual: each row of costs is read once.
func Example() {
	a, b := []float64{0.5, 0.5}, []float64{0.25, 0.75}
	c := []float64{0, 1, 1, 0} // a cost matrix, row by row
	const eps = 0.5
	beta := []float64{0, 0.1}

	var k cpu.Kernels[float64]
	m := len(b)
	h, t, col := make([]float64, m), make([]float64, m), make([]float64, m)
	k.Scale(h, 1/eps, beta)
	for i := range a {
		_, sum := k.RowExp(t, h, c[i*m:(i+1)*m], 1/eps)
		k.Axpy(col, a[i]/sum, t)
	}
	fmt.Printf("columns %.4f\n", col)
	fmt.Printf("error   %.4f\n", k.L1Diff(col, b))
	// Output:
	// columns [0.4789 0.5211]
	// error   0.4579
}

func ExampleKernels_RowLSE() {
	var k cpu.Kernels[float64]
	h := []float64{0, 0, math.Inf(-1)}
	c := []float64{1, 1, 0}
	fmt.Printf("%.4f\n", k.RowLSE(h, c, 2))
	// Output:
	// -1.3069
}

func ExampleKernels_PointRowExp() {
	var k cpu.Kernels[float64]
	x := []float64{0, 0}       // one point of the plane
	y := []float64{0, 3, 0, 4} // the points (0, 0) and (3, 4), by coordinate
	h, t := make([]float64, 2), make([]float64, 2)
	top, sum := k.PointRowExp(t, h, x, y, cpu.Cost[float64]{Square: 1}, 0.1)
	fmt.Printf("%.4f %.4f %.4f\n", top, t, sum)
	// Output:
	// 0.0000 [1.0000 0.0821] 1.0821
}

func ExampleGemm_AddSquares() {
	x := cpu.Dense([]float64{0, 0, 1, 1}, 2, 2)
	y := cpu.Dense([]float64{3, 4, 1, 0, 0, 1}, 3, 2)
	c := cpu.Dense(make([]float64, 6), 2, 3)
	var g cpu.Gemm[float64]
	g.AddSquares(c, x, y)
	fmt.Println(c.Data)
	// Output:
	// [25 1 1 13 1 1]
}
