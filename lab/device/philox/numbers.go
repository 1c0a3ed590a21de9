package philox

import "math"

// below1 is the largest float32 under 1.
const below1 = 1 - 0x1p-24

// Uniform is u = (k + ½)·2^−24 with k = word>>8, rounded to float32 and at most 1 − 2^−24: uniform in (0, 1).
//
// Steps: n = int32(2k+1), 25 bits; v = float32(n), rounded to nearest even; u = v·2^−25, exact; u = min(u, 1−2^−24).
func Uniform(word uint32) float32 {
	return min(float32(int32(word>>8<<1|1))*0x1p-25, below1)
}

// Normal makes two independent normal numbers, mean 0 and variance 1, of two random words (Box and Muller 1958).
//
// Steps: u = Uniform(a); l = log(u); r = √(−2·l), −2·l exact; (cos, sin) of the angle of b; z0 = r·cos; z1 = r·sin.
func Normal(a, b uint32) (z0, z1 float32) {
	// the root of a float32 in float64, rounded, is the float32 root
	r := float32(math.Sqrt(float64(-2 * logOf(Uniform(a)))))
	cos, sin := circle(b)
	return r * cos, r * sin
}

// Affine is shift + scale·v with two roundings: what turns a standard number into one of another range or deviation.
// Uniform numbers in (lo, hi) have shift = float32(lo), scale = float32(hi − lo), the difference in float64.
func Affine(v, shift, scale float32) float32 { return shift + float32(scale*v) }

// logP is P in log(1+f) = f − f²/2 + f³·P(f) for √½ − 1 ≤ f < √2 − 1, constant first. The fit errs by 6e-9, relatively.
var logP = [8]float32{
	0x1.555554p-2, -0x1.000228p-2, 0x1.99a008p-3, -0x1.54724p-3,
	0x1.22da2ap-3, -0x1.0d8568p-3, 0x1.055b18p-3, -0x1.38b3e6p-4,
}

// log 2 in two parts, the first with 18 bits so that small multiples are exact.
const (
	Ln2Hi = 0x1.62e4p-1
	Ln2Lo = 0x1.7f7d1cp-20
)

// rootHalf is the bits of √½ rounded down to float32.
const rootHalf = 0x3f3504f3

// logOf is the natural logarithm of a normal positive float32.
//
// Steps: b = bits(u) − rootHalf as int32; e = b>>23 with the sign; f = float(b&0x7fffff + rootHalf) − 1, exact;
// a = f·f; p = P(f) by Horner; y = (f·a)·p; y = y − 0.5·a; y = y + e·Ln2Lo; y = y + f; y = y + e·Ln2Hi.
func logOf(u float32) float32 {
	b := int32(math.Float32bits(u)) - rootHalf
	e := float32(b >> 23)
	f := math.Float32frombits(uint32(b&0x7fffff)+rootHalf) - 1
	a := float32(f * f)
	p := logP[7]
	p = float32(p*f) + logP[6]
	p = float32(p*f) + logP[5]
	p = float32(p*f) + logP[4]
	p = float32(p*f) + logP[3]
	p = float32(p*f) + logP[2]
	p = float32(p*f) + logP[1]
	p = float32(p*f) + logP[0]
	y := float32(float32(f*a) * p)
	y -= float32(0.5 * a)
	y += float32(e * Ln2Lo)
	y += f
	y += float32(e * Ln2Hi)
	return y
}

// sinS and cosC are S and C in sin(x·π/2) = x·S(x²) and cos(x·π/2) = 1 + x²·C(x²) for |x| ≤ ½, constants first. The
// fits err by 5e-9 and 5e-11.
var (
	sinS = [4]float32{0x1.921fb6p+0, -0x1.4abbbap-1, 0x1.465ec6p-4, -0x1.2d9bb8p-8}
	cosC = [4]float32{-0x1.3bd3ccp+0, 0x1.03c1dep-2, -0x1.55c664p-6, 0x1.d9f7bap-11}
)

// circle is the point of the unit circle at the angle 2π·(k + ½)·2^−24 with k = word>>8.
//
// Steps: q = (k + 2^21)>>22; n = 2·(k − q·2^22) + 1 as int32, |n| < 2^22; x = float32(n)·2^−23, exact; z = x·x;
// s = S(z) by Horner; s = x·s; c = C(z) by Horner; c = z·c; c = 1 + c; then by q mod 4.
func circle(word uint32) (cos, sin float32) {
	k := int32(word >> 8)
	q := (k + 1<<21) >> 22
	x := float32(2*(k-q<<22)+1) * 0x1p-23
	z := float32(x * x)
	s := sinS[3]
	s = float32(s*z) + sinS[2]
	s = float32(s*z) + sinS[1]
	s = float32(s*z) + sinS[0]
	s = float32(x * s)
	c := cosC[3]
	c = float32(c*z) + cosC[2]
	c = float32(c*z) + cosC[1]
	c = float32(c*z) + cosC[0]
	c = 1 + float32(z*c)
	switch q & 3 {
	case 0:
		return c, s
	case 1:
		return -s, c
	case 2:
		return -c, -s
	default:
		return s, -c
	}
}
