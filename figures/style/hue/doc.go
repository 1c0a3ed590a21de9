// Package hue holds the colours of the figures: colour scales and a categorical palette that readers with any kind
// of colour vision, and black-and-white printers, can tell apart.
//
// A [Map] sends [0, 1] to a colour. [Viridis] and [Ink] are sequential: CIE lightness L* is an
// affine function of the argument, so that order survives in grey. Each is given by a few anchors,
// joined by straight lines in OKLab and travelled at constant speed of L*.
//
// [Categorical] are the colours of Okabe and Ito without yellow (too light on white), ordered so that each prefix is
// as far apart as can be under normal, protan and deutan vision. Tests see the colours as those readers do, and judge
// by CIEDE2000.
//
// Sources: OKLab: B. Ottosson, "A perceptual color space for image processing" (2020). Viridis: N. Smith and
// S. van der Walt (2015). Palette: M. Okabe and K. Ito, "Color universal design" (2008). Simulation: G. Machado et
// al., IEEE TVCG 15(6), 2009, table for severity 1. Distance: CIEDE2000, G. Sharma et al., Color Res. Appl. 30, 2005.
package hue
