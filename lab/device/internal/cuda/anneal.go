package cuda

// What anneal.cu has memory for: points a side, and values of ε a launch.
const (
	mostAnnealed = 1024
	annealSteps  = 128
)

// schedule is the struct Schedule of anneal.cu.
type schedule struct {
	Count, First, Last, _ int32
	Eps                   [annealSteps]float64
}

// Anneals reports whether a block has memory for a problem.
func (g *gpu) Anneals(n, m int) bool { return 0 < min(n, m) && max(n, m) <= mostAnnealed }

// Anneal makes the updates of device.Anneal.
func (g *gpu) Anneal(f, h, lastF, lastH, c tensor, eps []float64) {
	batch, n, m := batchOf(c)
	for lo := 0; lo < len(eps); lo += annealSteps {
		part := eps[lo:min(lo+annealSteps, len(eps))]
		s := &schedule{Count: int32(len(part))}
		if copy(s.Eps[:], part); lo == 0 {
			s.First = 1
		}
		if lo+len(part) == len(eps) {
			s.Last = 1
		}
		g.launchOf("anneal", "anneal", f, grid{x: batch}, f, h, lastF, lastH, c, int32(n), int32(m), record(s))
	}
}
