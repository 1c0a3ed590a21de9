package data

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/data/format"
	"coupling/lab/must"

	"gonum.org/v1/gonum/mat"
)

func TestReadPoints(t *testing.T) {
	dir := t.TempDir()
	want := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	const header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }"
	for name, b := range map[string]string{
		"a.csv": "x,y\n1,2\n3,4\n", "a.tsv": "1\t2\n3\t4\n", "a.txt": "1 2\n3 4\n",
		"npy without a name": "\x93NUMPY\x01\x00v\x00" + header + strings.Repeat(" ", 117-len(header)) +
			"\n\x01\x03\x02\x04",
	} {
		path := filepath.Join(dir, name)
		put(path, []byte(b))
		if got, err := ReadPoints(path); err != nil || !mat.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	path := filepath.Join(dir, "x.npz")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("x.npy")
	must.Do(errors.Join(err, format.WriteNPY(w, []int{2, 2}, []float64{1, 2, 3, 4}), z.Close()))
	put(path, archive.Bytes())
	sum := sha256.Sum256(archive.Bytes())
	p, err := LoadPoints(path + ":x")
	if err != nil || !mat.Equal(p.X, want) || p.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("a member: %v, %v", p, err)
	}
	for name, names := range map[string]string{
		path: "name a member as in FILE.npz:NAME; it has x", path + ":y": `no member "y" in the archive; it has x`,
	} {
		_, err := ReadPoints(name)
		wantError(t, err, path, names)
	}
	_, err = ReadPoints("nowhere.csv")
	here, _ := os.Getwd()
	wantError(t, err, "nowhere.csv", "in the folder "+here)
	put(path, []byte("PK\x03\x04"))
	_, err = ReadPoints(path + ":x")
	wantError(t, err, path, "NPZ archive: zip: not a valid zip file")
	put(path, []byte("u,v\n1,2\n"))
	if p, err := LoadPoints(path); err != nil || p.String() != "1 × 2 numbers (header: u, v)" {
		t.Errorf("%v, %v", p, err)
	}
	put(path, []byte("1,2\n3,x\n"))
	if _, err = ReadPoints(path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v: want ErrCorrupt", err)
	}
	wantError(t, err, path+": ", `line 2: column 2: "x" is not a number`)
}
