package ot

import (
	"coupling/ot/cost"
	"coupling/ot/internal/geometry"
)

// Narrow makes the first passes over p in float32 however small it is.
func Narrow(p *cost.Cloud) cost.Geometry { return narrowed{p.Points()} }

type narrowed struct{ *geometry.Cloud }

func (n narrowed) Float32() *geometry.Rounded { return n.Round() }
