package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stored is what encode makes of s.
func stored(t testing.TB, s *snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// seal is a file with this header and data and a right checksum.
func seal(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = append(append(b, header...), data...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func example() *snapshot {
	return &snapshot{
		Step:    1 << 60,
		Arrays:  []array{{Name: "a", Type: "float32", Shape: []int{2, 1}, data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}, {Name: "t", Type: "int32", Shape: []int{1}, data: make([]byte, 4)}},
		Streams: map[string][2]uint64{"s": {1<<64 - 1, 3}},
		Sources: map[string][]byte{"r": {0, 255}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	got, err := decode(stored(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(array{})); diff != "" {
		t.Error(diff)
	}
}

// Every file that is cut short is refused.
func TestCutAnywhere(t *testing.T) {
	whole := stored(t, example())
	for n := range whole {
		if _, err := decode(whole[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: error %v", n, len(whole), err)
		}
	}
}

// Whatever bit flips, it is the file that is said to be wrong, and not its version.
func TestAnyBit(t *testing.T) {
	whole := stored(t, example())
	for i := range 8 * len(whole) {
		whole[i/8] ^= 1 << (i % 8)
		if _, err := decode(whole); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) {
			t.Fatalf("bit %d of byte %d: error %v", i%8, i/8, err)
		}
		whole[i/8] ^= 1 << (i % 8)
	}
}

// Headers that lie are refused though the checksum is right: sizes that are negative, overflow, or do not fit the data.
func TestHeadersThatLie(t *testing.T) {
	for _, b := range [][]byte{
		seal(`{`), seal(`{"arrays":[{"name":"a","type":"float32","shape":[2]}]}`, 1, 2, 3, 4),
		seal(`{"arrays":[{"name":"a","type":"float32","shape":[-1]}]}`),
		seal(`{"arrays":[{"name":"a","type":"float32","shape":[4611686018427387904,4]}]}`),
		seal(`{"arrays":[{"name":"a","type":"float16","shape":[1]}]}`, 1, 2),
		seal(`{"arrays":[{"name":"a","type":"int32","shape":[]},{"name":"a","type":"int32","shape":[]}]}`, 1, 2, 3, 4, 5, 6, 7, 8),
		seal(`{}`, 1),
	} {
		if _, err := decode(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: error %v", b[prefix:len(b)-sha256.Size], err)
		}
	}
}

// Whatever the bytes, decode returns an error or a snapshot whose arrays have the sizes that their shapes say.
func FuzzDecode(f *testing.F) {
	f.Add(stored(f, example()), false)
	f.Add([]byte(`{"step":3,"arrays":[{"name":"a","type":"float64","shape":[1,0]}],"streams":{"x":[1,2]}}`), true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed { // get behind the checksum
			b = seal(string(b))
		}
		s, err := decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("error %v wraps neither ErrCorrupt nor ErrVersion", err)
			}
			return
		}
		for _, a := range s.Arrays {
			n := sizes[a.Type]
			for _, k := range a.Shape {
				n *= k
			}
			if n != len(a.data) {
				t.Fatalf("%d bytes for %s%v", len(a.data), a.Type, a.Shape)
			}
		}
		again, err := decode(stored(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(array{})); diff != "" {
			t.Error(diff)
		}
	})
}
