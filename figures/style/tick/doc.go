// Package tick places and labels the marks of an axis.
//
// Gonum's own tickers crowd or starve an axis at the extremes; these do not. [Linear] puts marks at multiples of
// 1, 2 or 5 times a power of ten. [Log] labels whole powers of ten, every k-th of them when there are many decades,
// 1, 2 and 5 between them when there are few, and falls back to Linear within a fraction of a decade. Both take the
// number of labels that fit, which the figure computes from the axis's length, and never return much more. Labels use
// the markup of figures/style/paper: 2×10^{−5}.
//
// A range that is empty, reversed or not finite has no marks; nothing here panics.
package tick
