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
//	- list: [{solver: newton, damping: 0}, {solver: newton, damping: 0.1, tol: 1e-9}]
//
// An unknown key is an error with its line, and so is a parameter that the experiment does not
// have. Steps:
//
//   - grid: the product of its parameters' values, the last varying fastest
//   - list: one cell for each set of parameters
//
// A range is {from, to, count, scale: linear|log, integer: true}; the values between its ends are
// rounded to 14 digits. A dot names a field of an object: noise.sigma. For other designs (random
// points, conditions, early stopping) write a Go file: a loop over [lab.Sweep] says them in a few
// lines.
//
// [EstimateTime] guesses the time from the manifests of stored cells.
package sweepfile
