package train

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// flag is a boolean of the host that is also kept on the device, so that checkpoints store it.
type flag struct {
	on    bool
	param *nn.Param
}

func newFlag(name string, dev *device.Device) *flag {
	f := &flag{param: &nn.Param{Name: name, Value: dev.FromInts([]int32{0}, 1)}}
	f.param.Restored = f.read
	return f
}

// is reads the host's copy; a flag that is not there is not set.
func (f *flag) is() bool { return f != nil && f.on }

// set copies to the device if anything changes.
func (f *flag) set(on bool) {
	if f.on != on {
		f.on = on
		v := []int32{0}
		if on {
			v[0] = 1
		}
		f.param.Value.SetInts(v)
	}
}

// read takes over what a checkpoint has put on the device.
func (f *flag) read() error {
	v, err := f.param.Value.GetInts()
	if err == nil {
		f.on = v[0] != 0
	}
	return err
}
