package cuda

// Uniform draws numbers between lo and hi.
func (g *gpu) Uniform(dst, state tensor, lo, hi float64) { g.draw("uniform", dst, state, lo, hi-lo) }

// Normal draws Gaussian numbers.
func (g *gpu) Normal(dst, state tensor, mean, sigma float64) {
	g.draw("normal", dst, state, mean, sigma)
}

// draw fills dst and moves the stream on by as many blocks of four as that takes.
func (g *gpu) draw(name string, dst, state tensor, shift, scale float64) {
	n := dst.Len()
	if n == 0 {
		return
	}
	blocks := (n + 3) / 4
	g.launchOf("random", name, dst, grid{x: min((blocks+255)/256, g.limits.blocks)}, dst, state, n, shift, scale)
	g.launch("random", "advance", grid{x: 1}, state, blocks)
}
