package exact

// Rows is a cost computed on demand, so that no n×m matrix is ever held.
type Rows struct {
	N, M int
	// Fill writes row i to dst, of length M.
	Fill func(dst []float64, i int)
}

func (r Rows) Dims() (n, m int) { return r.N, r.M }

func (r Rows) Row(i int, buf []float64) []float64 {
	r.Fill(buf[:r.M], i)
	return buf[:r.M]
}
