package ot

import "coupling/ot/cost"

// Narrow makes the first passes over p in float32 however small it is.
func Narrow(p *PointCloud) Geometry { return narrowed{p} }

type narrowed struct{ *PointCloud }

func (n narrowed) Float32() *cost.Rounded { return n.Round() }
