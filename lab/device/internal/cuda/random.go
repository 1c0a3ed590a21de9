package cuda

// Uniform draws numbers between lo and hi.
func (g *gpu) Uniform(dst, state tensor, lo, hi float64) error {
	return g.draw("uniform", dst, state, lo, hi-lo)
}

// Normal draws Gaussian numbers.
func (g *gpu) Normal(dst, state tensor, mean, sigma float64) error {
	return g.draw("normal", dst, state, mean, sigma)
}

// draw fills dst and moves the stream on by as many blocks of four as that takes.
func (g *gpu) draw(name string, dst, state tensor, shift, scale float64) error {
	n := dst.Len()
	blocks := (n + 3) / 4
	return g.do(func() error {
		if n == 0 {
			return nil
		}
		size := grid{x: min((blocks+255)/256, g.limits.blocks)}
		err := g.launchOf("random", name, dst, size, array(dst), array(state), i64(n), f64(shift), f64(scale))
		if err != nil {
			return err
		}
		return g.launch("random", "advance", grid{x: 1}, array(state), i64(blocks))
	})
}
