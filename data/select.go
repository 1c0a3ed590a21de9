package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"coupling/data/batch"
)

// Take returns copies of the images with the given indices, in their order. It
// panics when an index is out of range.
func (m *Images) Take(indices []int) *Images {
	out, d := m.header(len(indices), m.c, m.h, m.w), m.Dim()
	if m.bytes == nil {
		out.pixels = m.AppendRows(make([]float32, 0, len(indices)*d), indices)
	} else {
		out.bytes = make([]uint8, 0, len(indices)*d)
		for _, i := range indices {
			out.bytes = append(out.bytes, m.bytes[i*d:(i+1)*d]...)
		}
	}
	out.Labels = nil
	if m.Labels != nil {
		out.Labels = make([]int, len(indices))
		for k, i := range indices {
			out.Labels[k] = m.Labels[i]
		}
	}
	return out
}

// Slice returns images from up to but not including to, sharing their memory
// and labels. It panics when the bounds are out of range.
func (m *Images) Slice(from, to int) *Images {
	out, d := *m, m.Dim()
	if out.n = to - from; m.bytes == nil {
		out.pixels = m.pixels[from*d : to*d : to*d]
	} else {
		out.bytes = m.bytes[from*d : to*d : to*d]
	}
	if m.Labels != nil {
		out.Labels = m.Labels[from:to:to]
	}
	return &out
}

// ByClass returns the indices of the images of each class, ascending:
// ByClass()[k] lists those with label k. It is nil when there are no labels.
func (m *Images) ByClass() [][]int {
	if m.Labels == nil {
		return nil
	}
	classes := make([][]int, max(len(m.Classes), slices.Max(append([]int{-1}, m.Labels...))+1))
	for i, label := range m.Labels {
		classes[label] = append(classes[label], i)
	}
	return classes
}

// SortByClass returns a copy with the images in the order of their labels,
// those of one class in their old order. Without labels nothing moves.
func (m *Images) SortByClass() *Images {
	order := batch.All(m.n)
	if m.Labels != nil {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(m.Labels[i], m.Labels[j]) })
	}
	return m.Take(order)
}

// Pick returns copies of n different images, each set of n equally likely, in
// random order. It returns an error when n is negative or exceeds Len.
func (m *Images) Pick(rng *rand.Rand, n int) (*Images, error) {
	indices, err := batch.Subset(rng, m.n, n)
	if err != nil {
		return nil, fmt.Errorf("data: pick from %s: n = %d: must be in [0, %d]", m.Name, n, m.n)
	}
	return m.Take(indices), nil
}

// Partition splits the images at random into disjoint sets of the given sizes, copied; the
// remaining images are left out. It returns an error when a size is negative or the sum exceeds
// Len.
func (m *Images) Partition(rng *rand.Rand, sizes ...int) ([]*Images, error) {
	parts, err := batch.Split(rng, m.n, sizes...)
	if err != nil {
		return nil, fmt.Errorf("data: partition %s: %w", m.Name, err)
	}
	out := make([]*Images, len(parts))
	for i, indices := range parts {
		out[i] = m.Take(indices)
	}
	return out, nil
}

// Apart returns about the given share of the images in kept, and the others in most. On which side an image falls is
// a function of its own values and label: one image more or less moves no other, and equal ones stay together.
func (m *Images) Apart(share float64) (most, kept *Images) {
	var at [2][]int
	for i := range m.n {
		h := sha256.New()
		_ = binary.Write(h, binary.LittleEndian, m.Row(i)) // a hash never fails
		if m.Labels != nil {
			_ = binary.Write(h, binary.LittleEndian, int64(m.Labels[i]))
		}
		side := 0
		if float64(binary.BigEndian.Uint64(h.Sum(nil))) < share*0x1p64 {
			side = 1
		}
		at[side] = append(at[side], i)
	}
	return m.Take(at[0]), m.Take(at[1])
}
