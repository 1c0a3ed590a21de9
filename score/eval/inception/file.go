package inception

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"coupling/lab/device"
	"coupling/lab/nn/safetensors"
)

// ErrWeights is wrapped by every error about the content of a file of weights.
var ErrWeights = errors.New("not the weights of the Inception-v3 of FIDs")

// classes is the number of classes of the weights of 2015-12-05.
const classes = 1008

// Open reads the file of weights at path, checks them and puts the network on a device. Errors wrap
// ErrWeights where the file is not what it should be. The caller frees the network.
func Open(path string, dev *device.Device) (*Network, error) {
	b, weights, err := read(path)
	if err != nil {
		return nil, err
	}
	return b.build(dev, weights), nil
}

// Name returns [Network.Name] of the opened file, without a device. It checks the file as Open does.
func Name(path string) (string, error) {
	b, weights, err := read(path)
	if err != nil {
		return "", err
	}
	return b.name(weights), nil
}

// read decodes the file and checks that a network can be built of it.
func read(path string) (*builder, map[string]safetensors.Tensor, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("inception: %w", err)
	}
	weights, err := safetensors.Decode(file)
	if err != nil {
		return nil, nil, fmt.Errorf("inception: %s: %w: %w", path, err, ErrWeights)
	}
	b := newBuilder(1)
	if first := weights["Conv2d_1a_3x3.conv.weight"].Shape; len(first) > 0 && first[0] > 0 && first[0] < 32 &&
		32%first[0] == 0 {
		b = newBuilder(32 / first[0])
	}
	if err := b.check(weights); err != nil {
		return nil, nil, fmt.Errorf("inception: %s: %w", path, err)
	}
	return b, weights, nil
}

// build makes the network of weights that were checked.
func (b *builder) build(dev *device.Device, weights map[string]safetensors.Tensor) *Network {
	b.net.Init(dev, device.Float32, rand.New(rand.NewPCG(0, 0))) // what it draws is overwritten
	for name, c := range b.convs {
		w, bias := fold(name, weights)
		c.W.Value.SetFloats(w)
		c.B.Value.SetFloats(bias)
	}
	for _, p := range b.net.Params() {
		p.Grad.Free() // never trained
		p.Grad = nil
	}
	return &Network{dev: dev, net: b.net, name: b.name(weights)}
}

// name is "Inception-" or, of a narrow network, "Inception/16-", and the digest of the weights.
func (b *builder) name(weights map[string]safetensors.Tensor) string {
	if b.divide > 1 {
		return fmt.Sprintf("Inception/%d-%s", b.divide, digest(weights))
	}
	return "Inception-" + digest(weights)
}

// normalisation is the last parts of the names of a batch normalisation.
var normalisation = []string{".bn.weight", ".bn.bias", ".bn.running_mean", ".bn.running_var"}

// check compares names, shapes and values with what the network needs.
func (b *builder) check(weights map[string]safetensors.Tensor) error {
	want := map[string][]int{"fc.weight": {classes, 2048 / b.divide}}
	for name, c := range b.convs {
		want[name+".conv.weight"] = []int{c.Out, c.In, c.Window.Kernel[0], c.Window.Kernel[1]}
		for _, part := range normalisation {
			want[name+part] = []int{c.Out}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t, ok := weights[name]
		if !ok {
			return fmt.Errorf("%q is missing: %w", name, ErrWeights)
		}
		if !slices.Equal(t.Shape, want[name]) {
			return fmt.Errorf("%q has shape %v, must be %v: %w", name, t.Shape, want[name], ErrWeights)
		}
		for i, v := range t.Data {
			if v-v != 0 || v < 0 && strings.HasSuffix(name, ".running_var") {
				return fmt.Errorf("%q[%d] = %v: must be finite, a variance not negative: %w", name, i, v, ErrWeights)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if want[name] == nil && name != "fc.bias" && !strings.HasSuffix(name, ".num_batches_tracked") {
			return fmt.Errorf("%q is unknown: %w", name, ErrWeights)
		}
	}
	return nil
}

// fold returns weight and bias of a convolution that also normalises: γ/√(σ²+ε)·W and β − γ/√(σ²+ε)·μ.
func fold(name string, weights map[string]safetensors.Tensor) (w, bias []float64) {
	part := func(i int) []float32 { return weights[name+normalisation[i]].Data }
	gamma, beta, mean, variance := part(0), part(1), part(2), part(3)
	conv := weights[name+".conv.weight"].Data
	size := len(conv) / len(gamma)
	for k := range gamma {
		factor := float64(gamma[k]) / math.Sqrt(float64(variance[k])+.001)
		for _, v := range conv[k*size : (k+1)*size] {
			w = append(w, factor*float64(v))
		}
		bias = append(bias, float64(beta[k])-factor*float64(mean[k]))
	}
	return w, bias
}

// digest is eight hexadecimal digits of the SHA-256 of names and values.
func digest(weights map[string]safetensors.Tensor) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		h.Write([]byte(name + "\x00"))
		_ = binary.Write(h, binary.LittleEndian, weights[name].Data) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Random returns a file of random weights for a network whose widths are divided by 1, 2, 4, 8 or 16,
// the same at each call, of a size that keeps activations near one: for tests of what reads such
// files. Distances in its features mean nothing.
func Random(divide int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(mean, spread float64, shape ...int) safetensors.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		t := safetensors.Tensor{Shape: shape, Data: make([]float32, n)}
		for i := range t.Data {
			t.Data[i] = float32(mean + spread*(2*rng.Float64()-1))
		}
		return t
	}
	w := map[string]safetensors.Tensor{"fc.weight": draw(0, 1, classes, 2048/divide)}
	b := newBuilder(divide)
	for _, name := range slices.Sorted(maps.Keys(b.convs)) {
		c := b.convs[name]
		k := c.Window.Kernel
		w[name+".conv.weight"] = draw(0, math.Sqrt(6/float64(c.In*k[0]*k[1])), c.Out, c.In, k[0], k[1])
		for i, part := range normalisation { // scales and variances near 1, shifts and means near 0
			w[name+part] = draw([]float64{1, 0, 0, 1}[i], .3, c.Out)
		}
	}
	return safetensors.Encode(w)
}
