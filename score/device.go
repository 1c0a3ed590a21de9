package score

import (
	"math"

	"coupling/lab/device"

	"gonum.org/v1/gonum/mat"
)

// A DeviceField is the score of a Field at points that lie on a device, prepared for a number of
// points. A field has one where it has a method
//
//	OnDevice(n int) *DeviceField
//
// which returns nil if Score on the host is the better way, as on a CPU. Langevin keeps chains on
// the device then: a step copies nothing to or from the host, and from the third on it is one
// launch. Its noise is the device's, so that a seed gives other chains than on the host.
type DeviceField struct {
	Device *device.Device
	// Level copies to the device what the noise level σ changes. It is called before Score, and not
	// recorded. Its error is that of Score at this σ on the host.
	Level func(sigma float64) error
	// Score returns the scores at the points x, float64 N×d, in a new array of their type. Its work may be recorded.
	Score func(x *device.Array) *device.Array
	Close func()
}

// OnDevice returns f at n points on a device, and nil for a field without a DeviceField.
func OnDevice(f Field, n int) *DeviceField {
	if r, ok := f.(interface{ OnDevice(n int) *DeviceField }); ok {
		return r.OnDevice(n)
	}
	return nil
}

// A mover makes the steps of Langevin.
type mover interface {
	step(u update) error
	settle() error // makes X and Done of the chain those after the latest step
	size() float64 // root mean square of the latest step's scores, NaN where they were not looked at
	close()
}

// onHost moves the chain itself, which is always settled.
type onHost struct {
	f    Field
	c    *Chain
	s    *mat.Dense
	done func()
}

func newOnHost(f Field, c *Chain) *onHost {
	n, d := c.X.Dims()
	h := &onHost{c: c, s: mat.NewDense(n, d, nil)}
	h.f, h.done = Prepare(f, n)
	return h
}

func (h *onHost) step(u update) error {
	if err := h.f.Score(h.s, h.c.X, u.sigma); err != nil {
		return err
	}
	if !h.c.move(h.c.X, h.s, u) {
		return ErrDiverged
	}
	h.c.Done++
	return nil
}

func (h *onHost) settle() error { return nil }
func (h *onHost) size() float64 { return rms(h.s) }
func (h *onHost) close()        { h.done() }

// onDevice moves a copy of the chain's points on a device, in float64. The noise of a step is drawn
// there, by Philox, at the place of the stream that the step has.
type onDevice struct {
	*DeviceField
	c        *Chain
	x, z     *device.Array // points and noise
	norm     *device.Array // of the latest scores
	factors  *device.Array // of the scores and of the noise
	noise    *device.Stream
	replay   device.Replay
	now      update // that Level and factors are for
	ahead    int    // steps that the chain does not have yet
	lastSize float64
}

func newOnDevice(r *DeviceField, c *Chain) *onDevice {
	x := r.Device.FromDense(device.Float64, c.X)
	m := &onDevice{
		DeviceField: r,
		c:           c,
		x:           x,
		z:           x.Like(),
		norm:        r.Device.New(device.Float64, 1, 1),
		factors:     r.Device.New(device.Float64, 2, 1),
		noise:       r.Device.Stream(c.Seed),
		now:         update{sigma: math.NaN()},
	}
	m.noise.Seek(c.Seed, uint64(c.Done)*uint64((x.Len()+3)/4)) // four numbers a block
	return m
}

func (m *onDevice) step(u update) error {
	if u.sigma != m.now.sigma {
		if err := m.Level(u.sigma); err != nil {
			return err
		}
	}
	if u != m.now {
		m.factors.Set64([]float64{u.drift, math.Sqrt(u.variance)})
		m.now = u
	}
	m.replay.Do(m.Device, m.update)
	m.ahead++
	m.lastSize = math.NaN()
	return m.Device.Err()
}

// update makes a step on the device; it is recorded.
func (m *onDevice) update() {
	defer m.Device.Scope().Close()
	s := m.Score(m.x)
	device.Reduce(m.norm, s, device.Norm)
	m.noise.Normal(m.z, 0, 1)
	device.Mul(s, s, m.factors.Rows(0, 1))
	device.Mul(m.z, m.z, m.factors.Rows(1, 2))
	device.Axpby(m.x, 1, m.x, 1, s)
	device.Axpby(m.x, 1, m.x, 1, m.z)
}

func (m *onDevice) settle() error {
	if m.ahead == 0 {
		return nil
	}
	x, err := m.x.Mat()
	if err != nil {
		return err
	}
	norm, err := m.norm.Get64()
	if err != nil {
		return err
	}
	m.c.X.Copy(x)
	m.c.Done += m.ahead
	m.ahead, m.lastSize = 0, norm[0]/math.Sqrt(float64(m.x.Len()))
	if checkFinite("chain", x) != nil {
		return ErrDiverged
	}
	return nil
}

func (m *onDevice) size() float64 { return m.lastSize }

func (m *onDevice) close() {
	m.replay.Close()
	for _, a := range []*device.Array{m.x, m.z, m.norm, m.factors} {
		a.Free()
	}
	m.noise.Free()
}
