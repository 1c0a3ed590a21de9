package hue

import "image/color"

// Categorical returns the colour of the k-th of several series, k ≥ 0. There are seven; they repeat.
func Categorical(k int) color.NRGBA {
	hex := [...]uint32{0x0072B2, 0xD55E00, 0x333333, 0x56B4E9, 0x009E73, 0xCC79A7, 0xE69F00}
	return rgb(hex[k%len(hex)])
}
