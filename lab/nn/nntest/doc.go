// Package nntest checks that layers keep the contract of nn.Layer.
//
// Check takes a Case, which is a layer and the shape of its input, and demands on a device:
//
//   - gradients of input, condition and parameters agree with finite differences in float64, in random directions and
//     for single elements; short tests move the arrays of a large network in groups
//   - float32 agrees with float64
//   - gradients add up, Pass.InputsOnly leaves those of parameters alone, VJP leaves its cotangent alone
//   - squared norms of per-example gradients agree with gradients of one example at a time
//   - two forward passes give the same bits, and nothing is left on the device
//
// Run does that for every layer of package nn, on any device:
//
//	func TestLayersOnDevice(t *testing.T) { nntest.Run(t, nntest.Open) }
//
// A new layer or network gets the same with its own cases:
//
//	nntest.RunCases(t, nntest.Open, []nntest.Case{{
//		Name: "Mine", Shape: []int{3, 2, 7, 5}, Layer: func() nn.Layer { return &Mine{…} },
//	}})
package nntest
