package style

// TradeOff is the curve of a trade-off function, such as dp.TradeOff.At: the type II error of the
// best test over its type I error in [0, 1]. For a plot with equal axes; the diagonal from (0, 1)
// to (1, 0) is no test at all.
func TradeOff(name string, series int, at func(alpha float64) float64) Line {
	const points = 200
	l := Line{Name: name, Series: series}
	for k := range points + 1 {
		alpha := float64(k) / points
		l.X, l.Y = append(l.X, alpha), append(l.Y, at(alpha))
	}
	return l
}
