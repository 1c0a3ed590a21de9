package inception

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// builder collects the convolutions of a network under their names in the file. Each is convolution, batch
// normalisation and ReLU there; here the normalisation is folded into weight and bias.
type builder struct {
	net    *nn.Sequential
	convs  map[string]*nn.Conv2D
	prefix string
	divide int // all widths are divided by this
}

// newBuilder is the network with its widths divided by a power of 2 up to 16.
func newBuilder(divide int) *builder {
	b := &builder{convs: make(map[string]*nn.Conv2D), divide: divide}
	b.net = b.network()
	return b
}

// in is the builder of the block with that name.
func (b builder) in(name string) *builder {
	b.prefix = name
	return &b
}

// conv is a convolution from in to out channels with ReLU.
func (b *builder) conv(name string, in, out int, w device.Window) *nn.Sequential {
	if in != 3 {
		in /= b.divide
	}
	c := &nn.Conv2D{In: in, Out: out / b.divide, Window: w}
	b.convs[b.prefix+name] = c
	return nn.Seq(c, nn.ReLU())
}

// Windows: k×k, which keeps the size if padded; 1×k and k×1, which keep it; halving ones.
func window(k, stride, pad int) device.Window { return device.SquareWindow(k, stride, pad) }
func wide(k int) device.Window                { return device.Window{Kernel: [2]int{1, k}, Pad: [2]int{0, k / 2}} }
func tall(k int) device.Window                { return device.Window{Kernel: [2]int{k, 1}, Pad: [2]int{k / 2, 0}} }

func maxPool(stride, pad int) nn.Layer { return &nn.MaxPool{Window: window(3, stride, pad)} }

// chain is a sequence of sequences.
func chain(parts ...*nn.Sequential) *nn.Sequential {
	var layers []nn.Layer
	for _, p := range parts {
		layers = append(layers, p.Layers...)
	}
	return nn.Seq(layers...)
}

// both is two ways side by side behind a common one.
func both(before *nn.Sequential, a, b nn.Layer) *nn.Sequential {
	return nn.Seq(append(before.Layers, &nn.Concat{Branches: []nn.Layer{a, b}})...)
}

// pooled is a pool followed by a 1×1 convolution.
func (b *builder) pooled(first nn.Layer, in, out int) *nn.Sequential {
	return nn.Seq(append([]nn.Layer{first}, b.conv("branch_pool", in, out, window(1, 1, 0)).Layers...)...)
}

// network is Inception-v3 up to its last mean, for images of 3×299×299 in [−1, 1] to 2,048 features.
func (b *builder) network() *nn.Sequential {
	return nn.Seq(
		b.conv("Conv2d_1a_3x3", 3, 32, window(3, 2, 0)),
		b.conv("Conv2d_2a_3x3", 32, 32, window(3, 1, 0)),
		b.conv("Conv2d_2b_3x3", 32, 64, window(3, 1, 1)), maxPool(2, 0),
		b.conv("Conv2d_3b_1x1", 64, 80, window(1, 1, 0)),
		b.conv("Conv2d_4a_3x3", 80, 192, window(3, 1, 0)), maxPool(2, 0),
		b.mixedA("Mixed_5b.", 192, 32), b.mixedA("Mixed_5c.", 256, 64), b.mixedA("Mixed_5d.", 288, 64),
		b.mixedB("Mixed_6a.", 288),
		b.mixedC("Mixed_6b.", 128), b.mixedC("Mixed_6c.", 160), b.mixedC("Mixed_6d.", 160), b.mixedC("Mixed_6e.", 192),
		b.mixedD("Mixed_7a."),
		b.mixedE("Mixed_7b.", 1280, pool(borderMean)), b.mixedE("Mixed_7c.", 2048, maxPool(1, 1)),
		pool(planeMean),
	)
}

// mixedA is the block of 35×35.
func (b *builder) mixedA(name string, in, out int) nn.Layer {
	b = b.in(name)
	return &nn.Concat{Branches: []nn.Layer{
		b.conv("branch1x1", in, 64, window(1, 1, 0)),
		chain(b.conv("branch5x5_1", in, 48, window(1, 1, 0)), b.conv("branch5x5_2", 48, 64, window(5, 1, 2))),
		chain(b.conv("branch3x3dbl_1", in, 64, window(1, 1, 0)), b.conv("branch3x3dbl_2", 64, 96, window(3, 1, 1)),
			b.conv("branch3x3dbl_3", 96, 96, window(3, 1, 1))),
		b.pooled(pool(borderMean), in, out),
	}}
}

// mixedB goes from 35×35 to 17×17.
func (b *builder) mixedB(name string, in int) nn.Layer {
	b = b.in(name)
	return &nn.Concat{Branches: []nn.Layer{
		b.conv("branch3x3", in, 384, window(3, 2, 0)),
		chain(b.conv("branch3x3dbl_1", in, 64, window(1, 1, 0)), b.conv("branch3x3dbl_2", 64, 96, window(3, 1, 1)),
			b.conv("branch3x3dbl_3", 96, 96, window(3, 2, 0))),
		maxPool(2, 0),
	}}
}

// mixedC is the block of 17×17.
func (b *builder) mixedC(name string, w int) nn.Layer {
	b = b.in(name)
	return &nn.Concat{Branches: []nn.Layer{
		b.conv("branch1x1", 768, 192, window(1, 1, 0)),
		chain(b.conv("branch7x7_1", 768, w, window(1, 1, 0)), b.conv("branch7x7_2", w, w, wide(7)),
			b.conv("branch7x7_3", w, 192, tall(7))),
		chain(b.conv("branch7x7dbl_1", 768, w, window(1, 1, 0)), b.conv("branch7x7dbl_2", w, w, tall(7)),
			b.conv("branch7x7dbl_3", w, w, wide(7)), b.conv("branch7x7dbl_4", w, w, tall(7)),
			b.conv("branch7x7dbl_5", w, 192, wide(7))),
		b.pooled(pool(borderMean), 768, 192),
	}}
}

// mixedD goes from 17×17 to 8×8.
func (b *builder) mixedD(name string) nn.Layer {
	b = b.in(name)
	return &nn.Concat{Branches: []nn.Layer{
		chain(b.conv("branch3x3_1", 768, 192, window(1, 1, 0)), b.conv("branch3x3_2", 192, 320, window(3, 2, 0))),
		chain(b.conv("branch7x7x3_1", 768, 192, window(1, 1, 0)), b.conv("branch7x7x3_2", 192, 192, wide(7)),
			b.conv("branch7x7x3_3", 192, 192, tall(7)), b.conv("branch7x7x3_4", 192, 192, window(3, 2, 0))),
		maxPool(2, 0),
	}}
}

// mixedE is the block of 8×8. The weights of published FIDs have a maximum for the mean in the last one.
func (b *builder) mixedE(name string, in int, first nn.Layer) nn.Layer {
	b = b.in(name)
	return &nn.Concat{Branches: []nn.Layer{
		b.conv("branch1x1", in, 320, window(1, 1, 0)),
		both(b.conv("branch3x3_1", in, 384, window(1, 1, 0)), b.conv("branch3x3_2a", 384, 384, wide(3)),
			b.conv("branch3x3_2b", 384, 384, tall(3))),
		both(chain(b.conv("branch3x3dbl_1", in, 448, window(1, 1, 0)),
			b.conv("branch3x3dbl_2", 448, 384, window(3, 1, 1))),
			b.conv("branch3x3dbl_3a", 384, 384, wide(3)), b.conv("branch3x3dbl_3b", 384, 384, tall(3))),
		b.pooled(first, in, 192),
	}}
}
