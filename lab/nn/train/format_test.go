package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"coupling/lab/must"
	"coupling/lab/nn/safetensors"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// stored is what encode makes of s.
func stored(s *snapshot) []byte {
	var b bytes.Buffer
	must.Do(encode(&b, s))
	return b.Bytes()
}

// seal is a file with these entries, metadata and data and a right checksum.
func seal(entries, metadata string, data ...byte) []byte {
	text, _ := json.Marshal(metadata)
	header := `{"__metadata__":{"sha256":"` + noSum + `","coupling":` + string(text) + `}` + entries + `}`
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(append(b, header...), data...)
	return bytes.Replace(b, []byte(noSum), fmt.Appendf(nil, "%x", sha256.Sum256(b)), 1)
}

func example() *snapshot {
	return &snapshot{
		Step: 1 << 60,
		Arrays: []safetensors.Array{{
			Name:  "a",
			Type:  "F32",
			Shape: []int{2, 1},
			Data:  []byte{1, 2, 3, 4, 5, 6, 7, 8},
		}, {Name: "t", Type: "I32", Shape: []int{1}, Data: make([]byte, 4)}},
		Sources: map[string][]byte{"r": {0, 255}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	got := must.Get(decode(stored(want)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every file that is cut short is refused.
func TestCutAnywhere(t *testing.T) {
	whole := stored(example())
	for n := range whole {
		if _, err := decode(whole[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: error %v", n, len(whole), err)
		}
	}
}

// Whatever bit flips, it is the file that is said to be wrong, and not its version.
func TestAnyBit(t *testing.T) {
	whole := stored(example())
	for i := range 8 * len(whole) {
		whole[i/8] ^= 1 << (i % 8)
		if _, err := decode(whole); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) {
			t.Fatalf("bit %d of byte %d: error %v", i%8, i/8, err)
		}
		whole[i/8] ^= 1 << (i % 8)
	}
}

// Headers that lie are refused though the checksum is right. (All kinds: package safetensors.)
func TestHeadersThatLie(t *testing.T) {
	const good = `{"version":2}`
	must.Get(decode(seal(`,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`, good, 1, 2, 3, 4)))
	for _, b := range [][]byte{
		seal(``, `{`), seal(``, good, 1),
		seal(`,"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`, good, 1, 2, 3, 4),
	} {
		if _, err := decode(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: error %v", b, err)
		}
	}
}

// A file of an earlier version, or of a later one, is refused with a sentence.
func TestOtherVersions(t *testing.T) {
	for want, b := range map[string][]byte{"an earlier version": []byte("CPLCKPT\n\x01\x00\x00\x00"),
		"3, this program reads 2": seal(``, `{"version":3}`)} {
		if _, err := decode(b); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Whatever the bytes, decode returns an error or a snapshot that is stored as it was read.
func FuzzDecode(f *testing.F) {
	f.Add(stored(example()), "")
	f.Add([]byte{0, 1}, `,"a":{"dtype":"F64","shape":[1,0],"data_offsets":[0,0]}`)
	f.Add([]byte{}, "")
	f.Fuzz(func(t *testing.T, b []byte, entries string) {
		if entries != "" { // get behind the checksum
			b = seal(entries, `{"version":2,"step":3,"sources":{"x":"AAE="}}`, b...)
		}
		s, err := decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("error %v wraps neither ErrCorrupt nor ErrVersion", err)
			}
			return
		}
		again := must.Get(decode(stored(s)))
		byName := cmpopts.SortSlices(func(a, b safetensors.Array) bool { return a.Name < b.Name })
		if diff := cmp.Diff(s, again, byName, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
