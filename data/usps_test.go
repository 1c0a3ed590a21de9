package data

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/must"
)

func TestUSPSFile(t *testing.T) {
	f, content := tinyUSPS()
	dir := t.TempDir()
	path := filepath.Join(dir, "usps", "zip.tiny.gz")
	put(path, gzipped(content))
	m := must.Get(f.load(t.Context(), From{Dir: dir}, "usps/tiny"))
	if fmt.Sprint(m.Labels) != "[7 3]" || m.Row(0)[9] != 0.25 || m.Row(1)[255] != -1 || m.Lo != -1 || m.Hi != 1 {
		t.Errorf("labels %v, values %v and %v in [%v, %v]", m.Labels, m.Row(0)[9], m.Row(1)[255], m.Lo, m.Hi)
	}
	for name, bad := range map[string][]byte{
		"truncated": content[:3000], "other value": append([]byte("8"), content[1:]...),
		"trailing": append([]byte(nil), append(content, content...)...), "web page": []byte("<html>"),
	} {
		put(path, gzipped(bad))
		m, err := f.load(t.Context(), From{Dir: dir}, "usps/tiny")
		if !errors.Is(err, ErrCorrupt) || m != nil {
			t.Errorf("%s: error %v: want ErrCorrupt and no images", name, err)
		}
		wantError(t, err, path)
	}
	_, err := USPS(t.Context(), From{Dir: dir}, Valid)
	wantError(t, err, "usps: split = valid")
}

// The counts of zip.info.txt, which accompanies the data.
func TestRealUSPS(t *testing.T) {
	for split, want := range map[Split][]int{
		Train: {1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644},
		Test:  {359, 264, 198, 166, 200, 160, 170, 147, 166, 177},
	} {
		m := realData(t, USPS, split)
		if diff := cmp.Diff(want, counts(m)); diff != "" {
			t.Error(diff)
		}
		if n, c, h, w := m.Shape(); n != len(m.Labels) || c != 1 || h != 16 || w != 16 ||
			m.Name != "usps/"+split.String() {
			t.Errorf("%s: shape %d×%d×%d×%d", m.Name, n, c, h, w)
		}
	}
}
