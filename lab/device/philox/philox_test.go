package philox

import (
	"fmt"
	"math"
	"testing"
)

// TestKnownAnswers holds the generator to the vectors for philox4x32 10 in kat_vectors of Random123.
func TestKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Block(c.counter, c.key); got != c.want {
			t.Errorf("Block(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
	if At(0x299f31d0a4093822, 7<<32|5) != Block([4]uint32{5, 7, 0, 0}, [2]uint32{0xa4093822, 0x299f31d0}) {
		t.Error("At does not put the low words first")
	}
}

// TestPinned pins bits: a port that differs in any of them differs in an operation. The sum is over 2^16 blocks.
func TestPinned(t *testing.T) {
	var sum uint64 // FNV-1a over bit patterns
	sum = 0xcbf29ce484222325
	add := func(x float32) { sum = (sum ^ uint64(math.Float32bits(x))) * 0x100000001b3 }
	for k := range uint64(1 << 16) {
		w := At(42, k)
		for _, v := range w {
			add(Uniform(v))
		}
		for i := 0; i < 4; i += 2 {
			z0, z1 := Normal(w[i], w[i+1])
			add(z0)
			add(z1)
		}
	}
	if want := uint64(0x20b8eeb6723187cf); sum != want {
		t.Errorf("the numbers' bits have the hash %#x, want %#x", sum, want)
	}
}

// TestUniform looks at both ends and at the tie that rounding would put on 1.
func TestUniform(t *testing.T) {
	for _, c := range []struct {
		word uint32
		want float32
	}{
		{0, 0x1p-25}, {255, 0x1p-25}, {256, 3 * 0x1p-25}, {1 << 31, 0.5}, {1<<31 | 256, 0.5 + 0x1p-23},
		{math.MaxUint32, 1 - 0x1p-24},
	} {
		if got := Uniform(c.word); got != c.want {
			t.Errorf("Uniform(%#x) = %x, want %x", c.word, got, c.want)
		}
	}
	if got := Affine(.5, -1, 3); got != .5 {
		t.Errorf("Affine(.5, -1, 3) = %v, want .5", got)
	}
}

// ulps is the distance from the exact value in units in the last place of the float32 nearest to it.
func ulps(got float32, want float64) float64 {
	at := math.Abs(float64(float32(want)))
	unit := float64(math.Nextafter32(float32(at), math.MaxFloat32)) - at
	return math.Abs(float64(got)-want) / unit
}

// TestAccuracy compares with float64 on every 64th of the 2^24 arguments, and on the first and last thousand.
func TestAccuracy(t *testing.T) {
	var logs, circles float64
	look := func(k uint32) {
		u := Uniform(k << 8)
		logs = max(logs, ulps(logOf(u), math.Log(float64(u))))
		angle := (float64(k) + 0.5) * 0x1p-24
		cos, sin := circle(k << 8)
		wantSin, wantCos := turn(angle)
		circles = max(circles, ulps(cos, wantCos), ulps(sin, wantSin))
	}
	for k := uint32(0); k < 1<<24; k += 61 {
		look(k)
	}
	for k := range uint32(1000) {
		look(k)
		look(1<<24 - 1 - k)
	}
	t.Logf("largest errors in units in the last place: log %.3f, circle %.3f", logs, circles)
	if !(logs <= 1) || !(circles <= 2) {
		t.Errorf("errors of %.3f (log) and %.3f (circle) units in the last place, want at most 1 and 2", logs, circles)
	}
}

// turn is sine and cosine of 2π·a without the rounding of 2π·a near multiples of a quarter.
func turn(a float64) (sin, cos float64) {
	q := math.Round(4 * a)
	sin, cos = math.Sincos((4*a - q) * (math.Pi / 2))
	for range int(q) {
		sin, cos = cos, -sin
	}
	return sin, cos
}

// TestNormalAccuracy compares whole numbers with Box–Muller in float64 on the rounded u.
func TestNormalAccuracy(t *testing.T) {
	var worst float64
	for k := range uint64(1 << 18) {
		w := At(1, k)
		z0, z1 := Normal(w[0], w[1])
		sin, cos := turn((float64(w[1]>>8) + 0.5) * 0x1p-24)
		r := math.Sqrt(-2 * math.Log(float64(Uniform(w[0]))))
		worst = max(worst, ulps(z0, r*cos), ulps(z1, r*sin))
	}
	t.Logf("largest error %.3f units in the last place", worst)
	if !(worst <= 4) {
		t.Errorf("error of %.3f units in the last place, want at most 4", worst)
	}
}

func Example() {
	w := At(42, 0)
	fmt.Println(Uniform(w[0]))
	fmt.Println(Normal(w[0], w[1]))
	// Output:
	// 0.61295986
	// -0.9701898 0.19401887
}
