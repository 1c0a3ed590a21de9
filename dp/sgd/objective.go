package sgd

import (
	"encoding/binary"
	"io"
	"math/rand/v2"

	"coupling/dp/internal/check"
	"coupling/lab/device"
	"coupling/lab/nn"

	"gonum.org/v1/gonum/mat"
)

// Objective is a sum of losses, one for each private record: Classification, Regression, or a
// user's own type.
type Objective interface {
	// Len is the number of records N.
	Len() int
	// Cotangent runs the records of a batch forward through its network, once, on its pass, and
	// returns the cotangent of the network's output for the *sum* of their losses. Example k of the
	// pass is record b.Records[k]: row k of the input and of the cotangent may depend only on that
	// record, the weights, public values and b.Rand of that record. Privacy depends on this.
	Cotangent(b Batch) (dy *device.Array, err error)
	// Digest writes all records, so that a resumed run detects other ones.
	Digest(w io.Writer) error
}

// Batch holds some records and the network pass for them.
type Batch struct {
	Net     nn.Layer
	Pass    *nn.Pass
	Dev     *device.Device
	Type    device.DType
	Records []int // at least two, not decreasing; a record alone in its sum occurs twice
	// Rand is the randomness of a record's loss at this step, such as the noise of a denoiser:
	// independent for each record and step, and of the other records in the batch.
	Rand func(record int) *rand.Rand
}

// forward is the network's output, which must be N×K.
func (b Batch) forward(x Inputs) (*device.Array, error) {
	in, err := x.Batch(b.Dev, b.Type, b.Records)
	if err != nil {
		return nil, err
	}
	y := b.Net.Forward(b.Pass, in)
	if shape := y.Shape(); len(shape) != 2 || shape[0] != len(b.Records) {
		return nil, bad("Net: its output has shape %v for %d records: must be [%d K]", shape, len(b.Records),
			len(b.Records))
	}
	return y, nil
}

// Classification is the cross-entropy of labels in [0, K), one for each record; the network's output is N×K logits.
type Classification struct {
	X      Inputs
	Labels []int
}

// Len returns the number of records.
func (c Classification) Len() int { return length(c.X) }

func length(x Inputs) int {
	if x == nil {
		return 0
	}
	return x.Len()
}

// Cotangent returns softmax − onehot.
func (c Classification) Cotangent(b Batch) (*device.Array, error) {
	if len(c.Labels) != c.Len() {
		return nil, bad("Classification: %d labels for %d records: must be equal", len(c.Labels), c.Len())
	}
	logits, err := b.forward(c.X)
	if err != nil {
		return nil, err
	}
	for i, l := range c.Labels { // all labels now, not first at the step that draws record i
		if l < 0 || l >= logits.Dim(1) {
			return nil, bad(
				"Classification: label %d of record %d: must be in [0, %d), the columns of the network's output", l, i,
				logits.Dim(1))
		}
	}
	labels := make([]int32, len(b.Records))
	for k, i := range b.Records {
		labels[k] = int32(c.Labels[i])
	}
	loss, dy := b.Dev.New(b.Type, len(labels)), logits.Like()
	device.CrossEntropy(loss, dy, logits, b.Dev.FromInts(labels, len(labels)))
	return dy, nil
}

// Digest writes inputs and labels.
func (c Classification) Digest(w io.Writer) error {
	return check.All(c.X.Digest(w), binary.Write(w, binary.LittleEndian, integers(c.Labels)))
}

// Regression is ½|f(x) − y|², y being a row of Y, N×K, for each record; the network's output is N×K.
type Regression struct {
	X Inputs
	Y *mat.Dense
}

// Len returns the number of records.
func (r Regression) Len() int { return length(r.X) }

// Cotangent returns f(x) − y.
func (r Regression) Cotangent(b Batch) (*device.Array, error) {
	y := Rows(r.Y)
	if y.Len() != r.Len() {
		return nil, bad("Regression: Y has %d rows for %d records: must be equal", y.Len(), r.Len())
	}
	out, err := b.forward(r.X)
	if err != nil {
		return nil, err
	}
	if _, k := r.Y.Dims(); k != out.Dim(1) {
		return nil, bad("Regression: Y has %d columns, the network's output %d: must be equal", k, out.Dim(1))
	}
	want, err := y.Batch(b.Dev, b.Type, b.Records)
	if err != nil {
		return nil, err
	}
	dy := out.Like()
	device.Sub(dy, out, want)
	return dy, nil
}

// Digest writes inputs and targets.
func (r Regression) Digest(w io.Writer) error { return check.All(r.X.Digest(w), writeMatrix(w, r.Y)) }
