package kit

import (
	"coupling/lab"
	"coupling/lab/device"
	"coupling/lab/nn"
)

// A Tally adds up what the networks of a cell compute, for [lab.Experiment.Work].
type Tally struct {
	Device *device.Device
	lab.Work
}

// Train adds a training: its steps, forward and back, of batches of examples of a shape.
func (t *Tally) Train(net nn.Layer, steps, batch int, shape ...int) {
	t.add(net, steps, 3*batch, shape)
}

// Evaluate adds forward passes, of batches of examples of a shape, so many times.
func (t *Tally) Evaluate(net nn.Layer, times, batch int, shape ...int) {
	t.add(net, times, batch, shape)
}

// Differentiate is Evaluate with the gradient by the inputs.
func (t *Tally) Differentiate(net nn.Layer, times, batch int, shape ...int) {
	t.add(net, times, 2*batch, shape)
}

func (t *Tally) add(net nn.Layer, times, passes int, shape []int) {
	t.FLOP += float64(times) * float64(passes) * nn.FLOP(t.Device, net, shape...)
	t.Steps += float64(times)
}
