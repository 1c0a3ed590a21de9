package release

import (
	"runtime"
	"testing"
)

// The noise of a step at the size of DP-Sinkhorn on MNIST, 50 images of 28×28 pixels, and its mark, on one core.
func BenchmarkRelease(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const size = 50 * 28 * 28
	values := make([]float64, size)
	key := SeededKey(1)
	for name, do := range map[string]func(){
		"mark":  func() { key.Mark("gradient", 1, values, 1) },
		"noise": func() { _, _ = key.Noisy([32]byte{}, values, 1, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/value")
		})
	}
}
