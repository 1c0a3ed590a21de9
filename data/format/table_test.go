package format

import (
	"bytes"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// readTable is ReadTable as a matrix.
func readTable(b []byte) (*mat.Dense, error) {
	t, err := ReadTable(b)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(t.Rows, t.Cols, t.Values), nil
}

func TestReadTable(t *testing.T) {
	want := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	for name, in := range map[string]string{
		"plain":        "1,2\n3,4\n",
		"header":       "x,y\n1,2\n3,4",
		"mark":         "\xef\xbb\xbf1,2\n3,4\n",
		"mark header":  "\xef\xbb\xbfx,y\r\n1,2\r\n3,4\r\n",
		"comments":     "# one\nx,y\n# two\n1, 2\n\n 3 ,4\n",
		"tabs":         "an x\ty\n1\t2\n3\t 4\n",
		"semicolons":   "x;y\n1; 2\n3;4\n",
		"blanks":       "# np.savetxt\r 1.0 2e0\r\n\n3   4\n",
		"blank header": "x y\n1 2\n3\t4\n",
		"quoted":       "\"a, b\",c\n\"1\",2\n3,4\n",
	} {
		got, err := readTable([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !mat.Equal(got, want) {
			t.Errorf("%s: %v", name, mat.Formatted(got))
		}
	}
	for _, c := range []struct{ name, in, names string }{
		{"slip in the first line", "1,x\n3,4\n", `line 1: column 2: "x"`},
		{"only slips in it", "1.o,2.o\n3,4\n", `line 1: column 1: "1.o"`},
		{"only missing values in it", "NA,n/a\n3,4\n", `line 1: column 1: "NA"`},
		{"only other minus signs in it", "−1,−2\n3,4\n", `line 1: column 1: "−1"`},
		{"row numbers of pandas", ",u,v\n0,1,2\n", `line 1: column 1: "" is not a number: a header names`},
		{"row numbers of R", "\"\",\"u\"\n\"1\",2\n", `index=False`},
		{"row numbers over numbers", ",0,1\n0,1,2\n", `index=False`},
		{"decimal commas", "1,5;2,0\n", `line 1: column 2: "5;2" is not a number: fix: write decimal points`},
		{"decimal commas below a header", "u;v\n1,5;2,0\n",
			`line 2: column 1: "1,5" is not a number: fix: write decimal points`},
		{"decimal commas between tabs", "1,5\t2,0\n", `fix: write decimal points`},
		{"UTF-16", "\xff\xfe1\x00\n\x00", "UTF-16"},
		{"UTF-16 without a mark", "1\x00\n\x00", "UTF-16"},
		{"after a mark", "\xef\xbb\xbf1,2o\n3,4\n", `line 1: column 2: "2o"`},
		{"two headers", "x,y\nm,s\n1,2\n", `line 2: column 1: "m"`},
		{"ragged header", "x\n1,2\n", "line 2: wrong number of fields: 2, the first line has 1"},
		{"only a header", "x,y\n", "no numbers"},
		{"empty", "", "no numbers"},
		{"hole between tabs", "1\t2\n3\t\n", `line 2: column 2: ""`},
		{"slip between blanks", "1 2\n\n3 4o\n", `line 3: column 2: "4o"`},
		{"ragged blanks", "1 2\n3\n", "line 2: wrong number of fields: 1, the first line has 2"},
		{"hole", "1,2\n3,\n", `line 2: column 2: ""`},
	} {
		_, err := readTable([]byte(c.in))
		t.Run(c.name, func(t *testing.T) { wantBad(t, err, c.names) })
	}
}

// Whatever the bytes, there is a matrix of the size of its lines or an error.
func FuzzReadTable(f *testing.F) {
	for _, s := range []string{"1,2\n3,4\n", "x,y\n1,2\n", "\xef\xbb\xbf1\n", "1,x\n", "#\n\"1\"\n", "nan,-inf\n",
		"1\t2\n", " 1  2\n3 4", "1;2\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := readTable(in)
		if err != nil {
			return
		}
		if r, c := m.Dims(); r < 1 || c < 1 || r > bytes.Count(in, []byte("\n"))+bytes.Count(in, []byte("\r"))+1 {
			t.Fatalf("%d×%d from %q", r, c, in)
		}
	})
}
