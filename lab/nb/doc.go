// Package nb displays the lab in a notebook: it shows figures, tables and plans, draws a bar while
// cells are computed, and has sliders over the parameters of anything that can be drawn.
//
//	nb.Show(style.Plan(plan.Matrix()))
//	nb.Make(tour.Digits().Figure())
//	nb.Slider("ε", nb.LogSteps(1e-3, 1, 31), func(eps float64) any { … })
//
// # Cells
//
// The GoNB kernel compiles each cell into a program of its own, together with the imports,
// functions, types and global variables of the cells that ran before. Computed values do not
// survive a cell, and the initialiser of a global variable runs again in each. Put results that
// take long into the lab's store, where every later cell, script and command finds them: see
// [lab.Do].
//
// # With a browser and without
//
// If no browser answers (the notebook runs headless, or is exported), a slider becomes a [Film]:
// frames drawn beforehand, under a slider that works in exported HTML. Outside any notebook the
// package draws nothing.
//
// # Interruption
//
// Jupyter's stop button sends the cell an interrupt and kills it five seconds
// later. [Context] ends with the interrupt; cells that were stored by then stay.
package nb
