package sgd

import (
	"encoding/binary"
	"io"
	"math/rand/v2"

	"coupling/data"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// Objective is a sum of losses, one of each private record.
type Objective interface {
	// Len is the number of records N, which counts as public.
	Len() int
	// Cotangent takes the records of a batch forward through its network, once, on its pass, and returns the cotangent of
	// the network's output for the *sum* of their losses. Example k of the pass is record b.Records[k]: row k of the
	// input and of the cotangent may depend on that record, on the weights, on what is public and on b.Rand of that record,
	// and on nothing else. Privacy rests on it.
	Cotangent(b Batch) (dy *device.Array, err error)
	// Digest writes all records, so that other ones are told from them.
	Digest(w io.Writer) error
}

// Batch is some records on their way through a network.
type Batch struct {
	Net     nn.Layer
	Pass    *nn.Pass
	Dev     *device.Device
	Type    device.DType
	Records []int // at least two, not falling; one that is alone in its sum comes twice
	// Rand is the randomness of a record's loss at this step, such as noise that it is to be denoised from: independent for
	// each record and step, whoever else is in the batch.
	Rand func(record int) *rand.Rand
}

// Classification is the cross-entropy of images with labels. The network takes images N×C×H×W, scaled to [−1, 1], to
// N×K logits; labels are in [0, K).
type Classification struct {
	Images *data.Images
}

// Len is the number of images; none without.
func (c Classification) Len() int {
	if c.Images == nil {
		return 0
	}
	return c.Images.Len()
}

// Cotangent is softmax − onehot.
func (c Classification) Cotangent(b Batch) (*device.Array, error) {
	if len(c.Images.Labels) != c.Images.Len() {
		return nil, bad("Images: %d labels for %d images: must be equal", len(c.Images.Labels), c.Images.Len())
	}
	x, err := Pixels(b, c.Images)
	if err != nil {
		return nil, err
	}
	logits := b.Net.Forward(b.Pass, x)
	labels := make([]int32, len(b.Records))
	for k, i := range b.Records {
		l := c.Images.Labels[i]
		if l < 0 || l >= logits.Dim(1) {
			return nil, bad("label %d of image %d: must be in [0, %d)", l, i, logits.Dim(1))
		}
		labels[k] = int32(l)
	}
	loss, dy := b.Dev.New(b.Type, len(labels)), logits.Like()
	device.CrossEntropy(loss, dy, logits, b.Dev.FromInts(labels, len(labels)))
	return dy, nil
}

// Digest writes pixels and labels.
func (c Classification) Digest(w io.Writer) error { return WriteImages(w, c.Images) }

// Pixels is the images of a batch, N×C×H×W, scaled from [Lo, Hi] to [−1, 1]; what is outside goes to the nearer end, and
// NaN to −1.
func Pixels(b Batch, m *data.Images) (*device.Array, error) {
	if !(m.Hi > m.Lo) {
		return nil, bad("Images: Lo = %g, Hi = %g: must be increasing", m.Lo, m.Hi)
	}
	rows := m.AppendRows(nil, b.Records)
	by := 2 / (m.Hi - m.Lo)
	for i, v := range rows {
		u := (v-m.Lo)*by - 1
		if !(u >= -1) {
			u = -1
		}
		rows[i] = min(u, 1)
	}
	_, c, h, w := m.Shape()
	x := b.Dev.From32(rows, len(b.Records), c, h, w)
	if b.Type == device.Float32 {
		return x, nil
	}
	y := b.Dev.New(b.Type, x.Shape()...)
	device.Convert(y, x)
	return y, nil
}

// WriteImages writes shape, range, pixels and labels.
func WriteImages(w io.Writer, m *data.Images) error {
	n, c, h, wide := m.Shape()
	labels := make([]int64, len(m.Labels))
	for i, l := range m.Labels {
		labels[i] = int64(l)
	}
	head := []int64{int64(n), int64(c), int64(h), int64(wide)}
	for _, part := range []any{head, []float32{m.Lo, m.Hi}, m.AppendRows(nil, everybody(n)), labels} {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}

func everybody(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
