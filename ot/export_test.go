package ot

// Narrow makes the first passes over p in float32 however small it is.
func Narrow(p *PointCloud) *PointCloud {
	p.storable = 0
	return p
}
