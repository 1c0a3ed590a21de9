package data

import (
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"coupling/lab/must"
)

// picture is a grey image of bytes whose pixel i is 37i² + 101i + 13 modulo 256,
// seen as numbers from 0 to 255.
func picture(t testing.TB, h, w int) *Images {
	m := must.Get(New(1, 1, h, w))
	m.Hi = 255
	for i := range m.pixels {
		m.pixels[i] = float32((37*i*i + 101*i + 13) % 256)
	}
	return m
}

// Values of Pillow 9.4.0: Image.resize with BILINEAR on images of mode F, which sums in another
// order, hence one unit in the last place of a float32 below 256.
func TestResizeAsPillow(t *testing.T) {
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/pillow.txt")))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var n []float64 // height, width, those of the result, its pixels
		for field := range strings.FieldsSeq(line) {
			n = append(n, must.Get(strconv.ParseFloat(field, 64)))
		}
		h, w, toH, toW := int(n[0]), int(n[1]), int(n[2]), int(n[3])
		got := must.Get(picture(t, h, w).Resize(toH, toW, Bilinear))
		for i, want := range n[4:] {
			if v := got.pixels[i]; math.Abs(float64(v)-want) > 0x1p-16 {
				t.Errorf("%d×%d to %d×%d: pixel %d is %v, want %v", h, w, toH, toW, i, v, want)
			}
		}
	}
}

// The bytes that Pillow 9.4.0 gives on images of mode L, by their CRC-32: at odd sizes, and at those of the papers.
func TestResizeBytesAsPillow(t *testing.T) {
	for _, test := range []struct {
		filter         Filter
		h, w, toH, toW int
		want           uint32
	}{
		{Bilinear8, 5, 7, 3, 4, 0xc5a427e0},
		{Bilinear8, 5, 7, 8, 9, 0xecafba43},
		{Bilinear8, 5, 7, 5, 3, 0xd841c698},
		{Bilinear8, 5, 7, 2, 7, 0x8dc3b2dd},
		{Bilinear8, 3, 3, 1, 1, 0x4d44c65},
		{Bilinear8, 1, 1, 2, 3, 0xc4613fb2},
		{Nearest, 5, 7, 3, 4, 0x8b7c75db},
		{Nearest, 5, 7, 8, 9, 0x6a5fbe15},
		{Nearest, 5, 7, 5, 3, 0xf7b0886f},
		{Nearest, 5, 7, 2, 7, 0x9c05dca8},
		{Nearest, 3, 3, 1, 1, 0x18b82d07},
		{Nearest, 1, 1, 2, 3, 0xc4613fb2},
		{Bilinear8, 28, 28, 16, 16, 0xe12c3bc6},
		{Bilinear8, 140, 140, 64, 64, 0x286153a},
		{Bilinear8, 140, 140, 32, 32, 0x5f35ba80},
		{Bilinear8, 32, 32, 64, 64, 0x1980a86c},
		{Bilinear8, 178, 218, 61, 97, 0xd504f045},
		{Nearest, 28, 28, 16, 16, 0x55d87ef6},
		{Nearest, 140, 140, 64, 64, 0xf2bbdafb},
		{Nearest, 140, 140, 32, 32, 0x38759b36},
		{Nearest, 32, 32, 64, 64, 0xeba361c6},
		{Nearest, 178, 218, 61, 97, 0x1171f324},
	} {
		got := must.Get(picture(t, test.h, test.w).Resize(test.toH, test.toW, test.filter))
		bytes := make([]byte, len(got.pixels))
		for i, v := range got.pixels {
			bytes[i] = byte(v)
		}
		if sum := crc32.ChecksumIEEE(bytes); sum != test.want {
			t.Errorf("%v %d×%d to %d×%d: CRC-32 %08x, want %08x", test.filter, test.h, test.w, test.toH, test.toW,
				sum, test.want)
		}
	}
}

// For every filter and size: constants stay, values stay within the input's
// bounds, the same size changes nothing, mirroring before is mirroring after,
// and images do not touch each other.
func TestResizeLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 20)
		h, w, toH, toW := size.Draw(rt, "h"), size.Draw(rt, "w"), size.Draw(rt, "toH"), size.Draw(rt, "toW")
		filter := Filter(rapid.IntRange(0, int(Nearest)).Draw(rt, "filter"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		m, err := New(2, 2, h, w)
		if err != nil {
			rt.Fatal(err)
		}
		constant := float32(rng.IntN(256)) / 255
		for i := range m.pixels {
			m.pixels[i] = float32(rng.IntN(256)) / 255
			if i < h*w {
				m.pixels[i] = constant
			}
		}
		resized := func(m *Images, h, w int) *Images {
			out, err := m.Resize(h, w, filter)
			if err != nil {
				rt.Fatal(err)
			}
			return out
		}
		out := resized(m, toH, toW)
		for i, v := range out.pixels {
			if i < toH*toW && math.Abs(float64(v-constant)) > 1e-7 { // a unit in the last place
				rt.Fatalf("%v: the constant %v became %v", filter, constant, v)
			}
			if !(v >= 0 && v <= 1+1e-7) {
				rt.Fatalf("%v: value %v from values in [0, 1]", filter, v)
			}
		}
		for i, v := range resized(m, h, w).pixels {
			if v != m.pixels[i] {
				rt.Fatalf("%v: resizing to the same size turned %v into %v", filter, m.pixels[i], v)
			}
		}
		alone := resized(m.Slice(1, 2), toH, toW)
		for i, v := range alone.pixels {
			if v != out.Row(1)[i] {
				rt.Fatalf("%v: an image alone differs from the same image in a set", filter)
			}
		}
		// Positions on the edge between two pixels go to the one on the right, so
		// nearest is not symmetric; the other filters are, but for rounding.
		if filter != Nearest {
			before, after := mirrored(m), mirrored(out)
			tolerance := 1e-6
			if filter == Bilinear8 {
				tolerance = 1.01 / 255
			}
			for i, v := range resized(before, toH, toW).pixels {
				if math.Abs(float64(v-after.pixels[i])) > tolerance {
					rt.Fatalf("%v: mirrored before %v, after %v", filter, v, after.pixels[i])
				}
			}
		}
	})
}

// mirrored swaps left and right.
func mirrored(m *Images) *Images {
	out := m.shaped(m.n, m.c, m.h, m.w)
	for at := 0; at < len(m.pixels); at += m.w {
		copy(out.pixels[at:], m.pixels[at:at+m.w])
		slices.Reverse(out.pixels[at : at+m.w])
	}
	return out
}

// The number of processors changes nothing.
func TestResizeIsDeterministic(t *testing.T) {
	m := numbered(300, 1, 9, 7, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone := must.Get(m.Resize(4, 5, Bilinear))
	runtime.GOMAXPROCS(4)
	shared := must.Get(m.Resize(4, 5, Bilinear))
	if !slices.Equal(alone.pixels, shared.pixels) {
		t.Error("one and four processors gave different values")
	}
}

func TestResizeRefuses(t *testing.T) {
	m := picture(t, 4, 4)
	for _, test := range []struct {
		h, w   int
		filter Filter
	}{{0, 4, Bilinear}, {4, -1, Nearest}, {math.MaxInt, 4, Bilinear}, {4, 4, Filter(9)}} {
		if _, err := m.Resize(test.h, test.w, test.filter); err == nil {
			t.Errorf("%d×%d with %v was accepted", test.h, test.w, test.filter)
		}
	}
}

// Bytes survive the way through float32 in both ranges, and are v/255 exactly.
func TestBytes(t *testing.T) {
	for _, lo := range []float32{0, -1} {
		m, table := &Images{Lo: lo, Hi: 1}, levels(lo, 1)
		for b, v := range table {
			if lo == 0 && v != float32(b)/255 {
				t.Errorf("byte %d is %v: want %v", b, v, float32(b)/255)
			}
			if back := m.toBytes(table[b:][:1]); int(back[0]) != b {
				t.Errorf("byte %d came back as %d", b, back[0])
			}
		}
	}
}
