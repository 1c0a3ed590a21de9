package sgd

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"coupling/lab/device"
	"coupling/lab/nn"
	"coupling/lab/nn/train"
)

// sum is Σ_{i∈batch} g_i·min(1, Clip/|g_i|) at step k, over virtual batches. Records of one stretch
// of the data set are summed together, so that the other records of a batch do not decide which
// records share a sum in the network's type. A virtual batch has at most twice as many records as
// are expected.
func (r *run) sum(k int, batch []int) ([]float64, error) {
	total := make([]float64, nn.Count(r.Net.Params()))
	stretch := max(int(math.Ceil(float64(r.virtual())/r.rate())), 1)
	for len(batch) > 0 {
		end := (batch[0]/stretch + 1) * stretch
		n, _ := slices.BinarySearch(batch, end)
		for some := range slices.Chunk(batch[:n], 2*r.virtual()) {
			if err := r.add(total, k, some); err != nil {
				return nil, err
			}
		}
		batch = batch[n:]
	}
	return total, nil
}

// add adds the sum of a virtual batch. Records without a finite gradient are left out.
func (r *run) add(total []float64, k int, records []int) error {
	for len(records) > 0 {
		err := r.gradients(k, records)
		var not *train.NotFiniteError
		if errors.As(err, &not) {
			records = without(records, not.Examples)
			continue
		}
		if err != nil {
			return err
		}
		return addGrads(total, r.Net.Params())
	}
	return nil
}

// gradients sets the gradients of parameters to the sum of the records' clipped ones.
func (r *run) gradients(k int, records []int) error {
	defer r.dev.Scope().Close()
	p := &nn.Pass{Training: true}
	dy, err := r.cotangent(p, k, records)
	if err != nil {
		return err
	}
	nn.ZeroGrads(r.Net.Params())
	_, err = train.ClippedGrads(p, r.Net, dy, r.Clip)
	return err
}

// twice returns the records, a single one twice: the product of a vector and a matrix rounds in another
// order than that of two matrices, so a unit at the kink of its ReLU could be off for the record alone
// and on beside another.
func twice(records []int) []int {
	if len(records) == 1 {
		return slices.Repeat(records, 2)
	}
	return records
}

// cotangent runs records forward. The second copy of a single one counts zero. So a record
// contributes the same bits whichever records are in the batch.
func (r *run) cotangent(p *nn.Pass, k int, records []int) (*device.Array, error) {
	n := len(records)
	records = twice(records)
	dy, err := r.Objective.Cotangent(Batch{
		Net: r.Net, Pass: p, Dev: r.dev, Type: r.Type, Records: records,
		Rand: func(record int) *rand.Rand { return r.out.Key.Rand(fmt.Sprintf("loss %d", record), k) },
	})
	if err != nil {
		return nil, err
	}
	if dy.Dim(0) != len(records) {
		return nil, bad("Objective: a cotangent of shape %v for %d records: must have a row for each", dy.Shape(),
			len(records))
	}
	if n < len(records) {
		device.Fill(dy.Rows(n, len(records)), 0)
	}
	return dy, nil
}

// without returns records except those at the given places, which ascend.
func without(records, places []int) []int {
	var out []int
	for k, i := range records {
		if _, drop := slices.BinarySearch(places, k); !drop {
			out = append(out, i)
		}
	}
	return out
}

// addGrads adds all gradients, one after the other, to total.
func addGrads(total []float64, params []*nn.Param) error {
	at := 0
	for _, p := range nn.Trainable(params) {
		g, err := p.Grad.Float64s()
		if err != nil {
			return err
		}
		for i, v := range g {
			total[at+i] += v
		}
		at += len(g)
	}
	return nil
}

// setGrads is the inverse of addGrads: it sets all gradients from total.
func setGrads(params []*nn.Param, values []float64) {
	for _, p := range nn.Trainable(params) {
		n := p.Grad.Len()
		p.Grad.SetFloats(values[:n])
		values = values[n:]
	}
}
