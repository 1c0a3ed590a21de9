package arch

import "coupling/lab/nn"

// UNet maps images of in channels, whose sides are multiples of 4, to out channels (Ronneberger et
// al. 2015): three resolutions of width, twice and four times as many channels, at each a
// convolution and a residual block of two, means of 2×2 on the way down and nearest pixels on the
// way up, where the features of the way down are joined. Of width 16 it costs 5 million
// multiply-adds an image of 16×16.
func UNet(in, out, width int) *nn.Sequential {
	inner := nn.Seq(unetStage(2*width, 4*width)...)
	middle := unetJoin(2*width, 4*width, unetStage(width, 2*width), inner)
	outer := unetJoin(width, 2*width, unetStage(in, width), middle)
	return nn.Seq(outer, conv3(width, out, 0, false))
}

// unetStage is the part of the network at one resolution on the way down.
func unetStage(in, out int) []nn.Layer {
	block := nn.Seq(conv3(out, out, 0, false), nn.SiLU(), conv3(out, out, 0, false))
	return []nn.Layer{conv3(in, out, 0, false), nn.SiLU(), &nn.Residual{Body: block}, nn.SiLU()}
}

// unetJoin is a stage with c channels, half its resolution with cBelow, and both joined.
func unetJoin(c, cBelow int, down []nn.Layer, below nn.Layer) nn.Layer {
	around := nn.Seq(halve(), below, &nn.Upsample{Factor: 2})
	return nn.Seq(append(down, &nn.Concat{Branches: []nn.Layer{nil, around}}, conv3(c+cBelow, c, 0, false),
		nn.SiLU())...)
}
