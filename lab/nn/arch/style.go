package arch

import (
	"coupling/lab/device"
	"coupling/lab/nn"
)

// style is the difference between the two score networks.
type style struct {
	levels int  // rows of the conditional normalisations; 0: unconditional
	inRCU  bool // normalise inside the refinement blocks too
	avg    bool // chained pooling takes means, not maxima
}

func (s style) norm(channels int) nn.Layer {
	return &nn.InstanceNormPlus{Channels: channels, Classes: s.levels}
}

// inner is a normalisation inside a refinement block, or none.
func (s style) inner(channels int) []nn.Layer {
	if !s.inRCU {
		return nil
	}
	return []nn.Layer{s.norm(channels)}
}

// conv3 is a 3×3 convolution that keeps the size.
func conv3(in, out, dilation int, noBias bool) nn.Layer {
	d := max(1, dilation)
	return &nn.Conv2D{In: in, Out: out, NoBias: noBias, Window: device.Window{
		Kernel: [2]int{3, 3}, Pad: [2]int{d, d}, Dilation: [2]int{d, d},
	}}
}

// halve is the mean of 2×2 pixels.
func halve() nn.Layer { return &nn.AvgPool{Window: device.SquareWindow(2, 2, 0)} }

// residual is the residual block of score networks: normalise, ELU, convolve, normalise, ELU, convolve. A block that
// goes down halves the size, or with a dilation widens its kernels instead; its shortcut is then a convolution: of
// 1×1 with the mean of 2×2, taken before it, which is the same and costs a quarter, or a dilated one.
func (s style) residual(in, out int, down bool, dilation int) nn.Layer {
	middle := out
	if down {
		middle = in
	}
	body := []nn.Layer{
		s.norm(in), nn.ELU(), conv3(in, middle, dilation, false),
		s.norm(middle), nn.ELU(), conv3(middle, out, dilation, false),
	}
	r := &nn.Residual{}
	switch {
	case down && dilation == 0:
		body = append(body, halve())
		r.Shortcut = nn.Seq(halve(), &nn.Conv2D{In: in, Out: out, Window: device.SquareWindow(1, 1, 0)})
	case down:
		r.Shortcut = conv3(in, out, dilation, false)
	}
	r.Body = nn.Seq(body...)
	return r
}

// rcu is a residual convolution unit: blocks of two stages (normalise), ELU, convolve beside the identity.
func (s style) rcu(features, blocks int) nn.Layer {
	var all []nn.Layer
	for range blocks {
		var body []nn.Layer
		for range 2 {
			body = append(body, s.inner(features)...)
			body = append(body, nn.ELU(), conv3(features, features, 0, true))
		}
		all = append(all, &nn.Residual{Body: nn.Seq(body...)})
	}
	return nn.Seq(all...)
}

// chain is chained residual pooling (Lin et al. 2017): y = a + s₁(a) + s₂(s₁(a)) of a = ELU(x).
func (s style) chain(features int) nn.Layer {
	stage := func() []nn.Layer { return append(s.inner(features), s.pool(), conv3(features, features, 0, true)) }
	last := &nn.Residual{Body: nn.Seq(stage()...)}
	return nn.Seq(nn.ELU(), &nn.Residual{Body: nn.Seq(append(stage(), last)...)})
}

// add is a + b, a new array.
func add(a, b *device.Array) *device.Array {
	y := a.Like()
	device.Add(y, a, b)
	return y
}

// pool is the pooling of 5×5 at stride 1 in chains.
func (s style) pool() nn.Layer {
	w := device.SquareWindow(5, 1, 2)
	if s.avg {
		return &nn.AvgPool{Window: w}
	}
	return &nn.MaxPool{Window: w}
}
