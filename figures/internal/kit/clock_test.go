package kit

import (
	"runtime"
	"testing"
	"time"
)

// A few microseconds of work are seen, and sleep is not counted: a clock of ticks would fail the
// first, one of the wall the second.
func TestCPUSeconds(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 100 {
		began, sum := CPUSeconds(), 0.
		for i := range 20_000 {
			sum += 1 / float64(i+1)
		}
		if took := CPUSeconds() - began; !(took > 1e-6) {
			t.Fatalf("20,000 divisions (sum %g) took %g s", sum, took)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	began := CPUSeconds()
	time.Sleep(200 * time.Millisecond)
	if took := CPUSeconds() - began; took > .1 {
		t.Errorf("sleeping for 0.2 s took %g s", took)
	}
}
