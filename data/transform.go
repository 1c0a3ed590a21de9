package data

import (
	"fmt"
	"math"
	"slices"
)

// Scale returns a copy in which black is lo and white is hi: each value v
// becomes lo + (v - Lo)·(hi - lo)/(Hi - Lo). It returns an error unless lo < hi.
func (m *Images) Scale(lo, hi float32) (*Images, error) {
	if err := checkRange(lo, hi); err != nil {
		return nil, err
	}
	if err := checkRange(m.Lo, m.Hi); err != nil {
		return nil, fmt.Errorf("%w (of %s)", err, m.Name)
	}
	out := m.Clone()
	out.Lo, out.Hi = lo, hi
	slope := (float64(hi) - float64(lo)) / (float64(m.Hi) - float64(m.Lo))
	for i, v := range out.pixels {
		out.pixels[i] = float32(float64(lo) + (float64(v)-float64(m.Lo))*slope)
	}
	return out, nil
}

// CenterCrop returns copies of the middle h rows and w columns. Where the
// margins are odd it rounds half to even, as torchvision does. It returns an
// error when h or w is not in 1 to the images' size.
func (m *Images) CenterCrop(h, w int) (*Images, error) {
	if h < 1 || h > m.h || w < 1 || w > m.w {
		return nil, fmt.Errorf("data: crop to h = %d, w = %d: must be in 1 to %d and 1 to %d", h, w, m.h, m.w)
	}
	out := m.shaped(m.n, m.c, h, w)
	m.paste(out, -margin(m.h, h), -margin(m.w, w))
	return out, nil
}

// margin is the number of lines before the middle size ones of full.
func margin(full, size int) int { return int(math.RoundToEven(float64(full-size) / 2)) }

// WithMirrored returns copies of the images, and behind them those with left and right exchanged: a
// draw of one is a draw of an image that is flipped with probability ½.
func (m *Images) WithMirrored() *Images {
	indices := make([]int, 2*m.n)
	for i := range indices {
		indices[i] = i % max(m.n, 1)
	}
	out := m.Take(indices)
	for row := range slices.Chunk(out.pixels[len(out.pixels)/2:], max(m.w, 1)) {
		slices.Reverse(row)
	}
	for row := range slices.Chunk(out.bytes[len(out.bytes)/2:], max(m.w, 1)) {
		slices.Reverse(row)
	}
	return out
}

// Pad returns copies with dy black rows above and below and dx black columns
// left and right: Pad(2, 2) makes MNIST's 28×28 images 32×32. It returns an
// error when dy or dx is negative.
func (m *Images) Pad(dy, dx int) (*Images, error) {
	if dy < 0 || dx < 0 {
		return nil, fmt.Errorf("data: pad by dy = %d, dx = %d: must not be negative", dy, dx)
	}
	if err := checkShape(m.n, m.c, m.h+2*dy, m.w+2*dx); err != nil {
		return nil, err
	}
	out := m.shaped(m.n, m.c, m.h+2*dy, m.w+2*dx)
	for i := range out.pixels {
		out.pixels[i] = m.Lo
	}
	m.paste(out, dy, dx)
	return out, nil
}

// paste copies the images of m into those of out, dy rows down and dx columns to the right; pixels
// that fall outside are dropped.
func (m *Images) paste(out *Images, dy, dx int) {
	first, last := max(0, -dx), min(m.w, out.w-dx)
	for plane := range m.n * m.c {
		for y := max(0, -dy); y < min(m.h, out.h-dy); y++ {
			from := (plane*m.h + y) * m.w
			to := out.pixels[(plane*out.h+y+dy)*out.w:]
			copy(to[first+dx:last+dx], m.values(from+first, from+last))
		}
	}
}

// Grey returns one channel, 0.299·red + 0.587·green + 0.114·blue (ITU-R
// BT.601, as Pillow and torchvision weigh them); images of one channel are
// copied. It returns an error for other numbers of channels.
func (m *Images) Grey() (*Images, error) {
	switch m.c {
	case 1:
		return m.Clone(), nil
	case 3:
		out, size := m.shaped(m.n, 1, m.h, m.w), m.h*m.w
		for i := range m.n {
			row, grey := m.Row(i), out.Row(i)
			for k := range grey {
				grey[k] = float32(0.299*float64(row[k]) + 0.587*float64(row[size+k]) + 0.114*float64(row[2*size+k]))
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("data: grey values of %d channels: want 1 or 3", m.c)
}

// RGB returns three channels: the single channel three times, or a copy of
// images that have three. It returns an error for other numbers of channels.
func (m *Images) RGB() (*Images, error) {
	if m.c != 1 && m.c != 3 {
		return nil, fmt.Errorf("data: RGB values of %d channels: want 1 or 3", m.c)
	}
	out := m.shaped(m.n, 3, m.h, m.w)
	at := out.pixels[:0]
	for i := range m.n {
		at = m.AppendRows(at, slices.Repeat([]int{i}, 3/m.c))
	}
	return out, nil
}
