package freg

import "coupling/ot/internal/rows"

type sweep = rows.Sweep[*row]

func newSweep(in *instance, workers int) *sweep {
	return rows.NewSweep(len(in.a), len(in.b), workers, func() *row { return newRow(len(in.b), len(in.full.b)) })
}
