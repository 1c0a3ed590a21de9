package format

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coupling/lab/must"
)

const attributes = "2\nMale Smiling Young \n000001.jpg -1  1 -1\n000002.jpg  1 -1  1\n"

func TestReadCelebAAttributes(t *testing.T) {
	got := must.Get(ReadCelebAAttributes(strings.NewReader(attributes), 2))
	if diff := cmp.Diff([]string{"Male", "Smiling", "Young"}, got.Names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"000001.jpg", "000002.jpg"}, got.Files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]uint8{{0, 1, 0}, {1, 0, 1}}, got.Values); diff != "" {
		t.Error(diff)
	}
}

func TestReadCelebAAttributesRefuses(t *testing.T) {
	refuse(t, func(r io.Reader) (*CelebAList, error) { return ReadCelebAAttributes(r, 2) }, map[string]bad[string]{
		"empty":           {"", "line 1"},
		"no count":        {"Male\n", "line 1"},
		"count 0":         {"0\nMale\n", "line 1"},
		"above the limit": {"3\nMale\n", "1 to 2"},
		"no names":        {"1\n\n000001.jpg\n", "names no attributes"},
		"cut":             {strings.TrimSuffix(attributes, "000002.jpg  1 -1  1\n"), "1 rows, line 1 says 2"},
		"cut in a row":    {strings.TrimSuffix(attributes, "  1\n"), "line 4: 3 columns"},
		"row more":        {attributes + "000003.jpg 1 1 1\n", "more than 2 images"},
		"value 0":         {strings.Replace(attributes, "-1", "0", 1), "line 3, column 2"},
		"column more":     {strings.Replace(attributes, "  1\n", "  1 1\n", 1), "5 columns, want 1+3"},
		"path":            {strings.Replace(attributes, "000002", "../../etc/passwd", 1), "not a plain file name"},
		"hidden":          {strings.Replace(attributes, "000002", ".x", 1), "not a plain file name"},
	})
}

func TestReadCelebAPartition(t *testing.T) {
	got := must.Get(ReadCelebAPartition(strings.NewReader("000001.jpg 0\n000002.jpg 2\n"), 2))
	if diff := cmp.Diff(&CelebAList{Files: []string{"000001.jpg", "000002.jpg"}, Values: [][]uint8{{0}, {2}}},
		got); diff != "" {
		t.Error(diff)
	}
	refuse(t, func(r io.Reader) (*CelebAList, error) { return ReadCelebAPartition(r, 2) }, map[string]bad[string]{
		"empty":       {"", "no lines"},
		"cut":         {"000001.jpg 0\n000002", "line 2"},
		"part 3":      {"000001.jpg 3\n", "line 1"},
		"part 00":     {"000001.jpg 00\n", "line 1"},
		"comma":       {"000001.jpg,0\n", "line 1"},
		"column more": {"000001.jpg 0 0\n", "line 1"},
		"path":        {"a/b.jpg 0\n", "line 1"},
		"too many":    {"1.jpg 0\n2.jpg 0\n3.jpg 0\n", "more than 2 images"},
	})
}

func FuzzReadCelebAAttributes(f *testing.F) {
	f.Add([]byte(attributes))
	f.Add([]byte("2000000000\nMale\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadCelebAAttributes(bytes.NewReader(in), 1000)
		if err != nil {
			wantBad(t, err)
			return
		}
		for i, name := range got.Files {
			if strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") {
				t.Errorf("file name %q", name)
			}
			_ = got.Values[i][len(got.Names)-1]
		}
	})
}

func FuzzReadCelebAPartition(f *testing.F) {
	f.Add([]byte("000001.jpg 0\n000002.jpg 2\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadCelebAPartition(bytes.NewReader(in), 1000)
		if err != nil {
			wantBad(t, err)
			return
		}
		if len(got.Files) != len(got.Values) {
			t.Errorf("%d files, %d parts", len(got.Files), len(got.Values))
		}
	})
}
