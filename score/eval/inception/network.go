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

// A conv is a convolution with ReLU.
type conv struct {
	name   string
	out    int // channels
	window device.Window
}

// chain is convolutions one after the other, the first of so many channels.
func (b *builder) chain(in int, convs ...conv) *nn.Sequential {
	var layers []nn.Layer
	if in != 3 {
		in /= b.divide
	}
	for _, c := range convs {
		out := c.out / b.divide
		layer := &nn.Conv2D{In: in, Out: out, Window: c.window}
		b.convs[b.prefix+c.name] = layer
		layers, in = append(layers, layer, nn.ReLU()), out
	}
	return nn.Seq(layers...)
}

// Windows: 1×1; 3×3, which keeps the size, or halves it; 1×k and k×1, which keep it.
var point, same, halving = window(1, 1, 0), window(3, 1, 1), window(3, 2, 0)

func window(k, stride, pad int) device.Window { return device.SquareWindow(k, stride, pad) }
func wide(k int) device.Window                { return device.Window{Kernel: [2]int{1, k}, Pad: [2]int{0, k / 2}} }
func tall(k int) device.Window                { return device.Window{Kernel: [2]int{k, 1}, Pad: [2]int{k / 2, 0}} }

func maxPool(stride, pad int) nn.Layer { return &nn.MaxPool{Window: window(3, stride, pad)} }

func concat(branches ...nn.Layer) nn.Layer { return &nn.Concat{Branches: branches} }

// both is two convolutions side by side behind others.
func (b *builder) both(before *nn.Sequential, in int, one, two conv) *nn.Sequential {
	return nn.Seq(append(before.Layers, concat(b.chain(in, one), b.chain(in, two)))...)
}

// pooled is a pool followed by a 1×1 convolution.
func (b *builder) pooled(first nn.Layer, in, out int) *nn.Sequential {
	return nn.Seq(append([]nn.Layer{first}, b.chain(in, conv{"branch_pool", out, point}).Layers...)...)
}

// network is Inception-v3 up to its last mean, for images of 3×299×299 in [−1, 1] to 2,048 features.
func (b *builder) network() *nn.Sequential {
	return nn.Seq(
		b.chain(3, conv{"Conv2d_1a_3x3", 32, halving}, conv{"Conv2d_2a_3x3", 32, window(3, 1, 0)},
			conv{"Conv2d_2b_3x3", 64, same}), maxPool(2, 0),
		b.chain(64, conv{"Conv2d_3b_1x1", 80, point}, conv{"Conv2d_4a_3x3", 192, window(3, 1, 0)}), maxPool(2, 0),
		b.mixedA("Mixed_5b.", 192, 32), b.mixedA("Mixed_5c.", 256, 64), b.mixedA("Mixed_5d.", 288, 64),
		b.mixedB("Mixed_6a."),
		b.mixedC("Mixed_6b.", 128), b.mixedC("Mixed_6c.", 160), b.mixedC("Mixed_6d.", 160), b.mixedC("Mixed_6e.", 192),
		b.mixedD("Mixed_7a."),
		b.mixedE("Mixed_7b.", 1280, pool(borderMean)), b.mixedE("Mixed_7c.", 2048, maxPool(1, 1)),
		pool(planeMean),
	)
}

// mixedA is the block of 35×35.
func (b *builder) mixedA(name string, in, out int) nn.Layer {
	b = b.in(name)
	return concat(
		b.chain(in, conv{"branch1x1", 64, point}),
		b.chain(in, conv{"branch5x5_1", 48, point}, conv{"branch5x5_2", 64, window(5, 1, 2)}),
		b.chain(in, conv{"branch3x3dbl_1", 64, point}, conv{"branch3x3dbl_2", 96, same},
			conv{"branch3x3dbl_3", 96, same}),
		b.pooled(pool(borderMean), in, out),
	)
}

// mixedB goes from 35×35 to 17×17.
func (b *builder) mixedB(name string) nn.Layer {
	b = b.in(name)
	return concat(
		b.chain(288, conv{"branch3x3", 384, halving}),
		b.chain(288, conv{"branch3x3dbl_1", 64, point}, conv{"branch3x3dbl_2", 96, same},
			conv{"branch3x3dbl_3", 96, halving}),
		maxPool(2, 0),
	)
}

// mixedC is the block of 17×17.
func (b *builder) mixedC(name string, w int) nn.Layer {
	b = b.in(name)
	return concat(
		b.chain(768, conv{"branch1x1", 192, point}),
		b.chain(768, conv{"branch7x7_1", w, point}, conv{"branch7x7_2", w, wide(7)}, conv{"branch7x7_3", 192, tall(7)}),
		b.chain(768, conv{"branch7x7dbl_1", w, point}, conv{"branch7x7dbl_2", w, tall(7)},
			conv{"branch7x7dbl_3", w, wide(7)}, conv{"branch7x7dbl_4", w, tall(7)},
			conv{"branch7x7dbl_5", 192, wide(7)}),
		b.pooled(pool(borderMean), 768, 192),
	)
}

// mixedD goes from 17×17 to 8×8.
func (b *builder) mixedD(name string) nn.Layer {
	b = b.in(name)
	return concat(
		b.chain(768, conv{"branch3x3_1", 192, point}, conv{"branch3x3_2", 320, halving}),
		b.chain(768, conv{"branch7x7x3_1", 192, point}, conv{"branch7x7x3_2", 192, wide(7)},
			conv{"branch7x7x3_3", 192, tall(7)}, conv{"branch7x7x3_4", 192, halving}),
		maxPool(2, 0),
	)
}

// mixedE is the block of 8×8. The weights of published FIDs have a maximum for the mean in the last one.
func (b *builder) mixedE(name string, in int, first nn.Layer) nn.Layer {
	b = b.in(name)
	return concat(
		b.chain(in, conv{"branch1x1", 320, point}),
		b.both(b.chain(in, conv{"branch3x3_1", 384, point}), 384, conv{"branch3x3_2a", 384, wide(3)},
			conv{"branch3x3_2b", 384, tall(3)}),
		b.both(b.chain(in, conv{"branch3x3dbl_1", 448, point}, conv{"branch3x3dbl_2", 384, same}), 384,
			conv{"branch3x3dbl_3a", 384, wide(3)}, conv{"branch3x3dbl_3b", 384, tall(3)}),
		b.pooled(first, in, 192),
	)
}
