// Package sweepfile reads sweeps: a YAML file that names an experiment and a design over its
// parameters, or a Go file with its own experiment ([Main], [Build]).
//
//	experiment: demo/fit       # a name of coupling's or of a Go file's
//	seed: 1
//	replicates: 3              # seeds 1, 2, 3
//	params: {n: 500, solver: lbfgs}
//	design:                    # each step multiplies the cells
//	- grid:
//	    eps: {from: 1e-3, to: 1, count: 7, scale: log}
//	    d: [2, 16, 64]
//	- when: {solver: newton}   # cells that do not match pass unchanged
//	  list: [{damping: 0}, {damping: 0.1, tol: 1e-9}]
//	- halton: {count: 32, over: {x: {from: 0, to: 1}, y: {from: 1, to: 1e4, scale: log}}}
//
// Instead of replicates, a file may ask for early stopping ([Halving]):
//
//	halving: {budget: steps, min: 100, max: 8100, factor: 3, metric: loss}
//
// An unknown key is an error with its line, and so is a parameter that the experiment does not
// have. Steps:
//
//   - grid: the product of its parameters' values, the last varying fastest
//   - list: one cell for each set of parameters
//   - halton: points that are spread evenly, of a randomised Halton sequence
//   - latin: a Latin hypercube
//   - random: independent points
//
// A range is {from, to, scale: linear|log, integer: true}, and in a grid it has a count; a grid
// rounds the values between its ends to 14 digits. In halton, latin and random a parameter may also
// be a list to choose from. A dot names a field of an object: noise.sigma. Random choices use the
// step's seed (1 unless given), never the cells' seeds. A condition (when) compares values that
// earlier steps set, or else the experiment's defaults.
//
// [EstimateTime] guesses the time from the manifests of stored cells.
package sweepfile
