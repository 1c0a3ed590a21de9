package train

import (
	"fmt"
	"math"
)

// Schedule is a factor of the learning rate as a function of the number of steps done: opt.SetFactor(s(step)) before
// each step.
type Schedule func(step int) float64

// Constant is 1.
func Constant() Schedule { return func(int) float64 { return 1 } }

// Warmup rises linearly from 1/n to 1 in the first n steps; after that it is next, counted from
// there.
func Warmup(n int, next Schedule) Schedule {
	return func(step int) float64 {
		if step < n {
			return float64(step+1) / float64(n)
		}
		return next(step - n)
	}
}

// Cosine falls from 1 to floor in n steps along half a cosine (Loshchilov and Hutter 2017) and stays there.
func Cosine(n int, floor float64) Schedule {
	positive("Cosine", n)
	return func(step int) float64 {
		at := float64(min(step, n)) / float64(n)
		return floor + (1-floor)*(1+math.Cos(math.Pi*at))/2
	}
}

// Linear falls from 1 to floor in n steps and stays there.
func Linear(n int, floor float64) Schedule {
	positive("Linear", n)
	return func(step int) float64 { return 1 - (1-floor)*float64(min(step, n))/float64(n) }
}

// Staircase multiplies by factor after every n steps: DP-MERF's 0.9 after an epoch.
func Staircase(n int, factor float64) Schedule {
	positive("Staircase", n)
	return func(step int) float64 { return math.Pow(factor, float64(step/n)) }
}

func positive(name string, n int) {
	if n < 1 {
		panic(fmt.Sprintf("train: %s: n = %d: must be > 0", name, n))
	}
}
