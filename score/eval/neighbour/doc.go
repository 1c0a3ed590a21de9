// Package neighbour finds exact nearest neighbours among rows, for what compares samples: 1-nearest-neighbour
// classifiers, precision and recall, density and coverage, membership inference.
//
//	found, err := neighbour.Search[float32]{K: 3, Self: true}.Find(ctx, x, x) // the third neighbour gives each radius
//	counts, err := neighbour.Cover(ctx, queries, points, squares)            // how many balls hold each query
//
// # An example in words
//
// Of the points 0, 1, 3 and 7 on the line, the nearest to 2.9 is 3, at the squared distance 0.01, and the second is 1.
// With Self, the neighbours of the points among themselves, the nearest of 0 is 1 and that of 7 is 3.
//
// # Conventions
//
// Rows are those of a cpu.Matrix: cpu.Dense(images.Pixels(), n, d), say. Distances are Euclidean and given
// squared. They are sums of squared differences, not |x|² + |y|² − 2x·y, so that nothing cancels and the distance of a
// row to its copy is exactly 0; each has the relative error of a sum of d terms, about d·2^−24 in float32 at worst.
// Of points equally far the one with the smaller index comes first. A value that is not finite is an error.
//
// Cost: n·m·d multiply-adds in the tiles of cpu.Gemm. Memory beside arguments and result: one tile
// of 128×1024 for each processor and what the product packs, whatever n and m. The result is the
// same bits whatever the number of processors.
package neighbour
