// Package nb is the lab's face in a notebook: it shows figures, tables and
// plans, draws a bar while cells are computed, and lets a slider move through
// the parameters of anything that can be drawn.
//
//	nb.Show(style.Plan(plan.Matrix()))
//	nb.Make(tour.Digits().Figure())
//	nb.Slider("ε", nb.LogSteps(1e-3, 1, 31), func(eps float64) any { … })
//
// # What a cell is
//
// The GoNB kernel compiles each cell into a program of its own, together with
// the imports, functions, types and global variables of the cells that ran before. Nothing
// that was computed survives a cell, and the initialiser of a global variable
// runs again in each. What took long belongs into the lab's store, where every
// later cell, script and command finds it: see [lab.Do].
//
// # With a browser and without
//
// A slider needs someone to move it. Where no browser answers (a notebook run
// headless, or exported) the same call leaves a [Film]: frames drawn beforehand, under a slider that
// works in exported HTML. Outside any notebook the package draws nothing.
//
// # Interruption
//
// Jupyter's stop button sends the cell an interrupt and kills it five seconds
// later. [Context] ends with the interrupt; what was stored by then stays.
package nb
