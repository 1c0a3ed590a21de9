package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"coupling/lab"
)

// inputFiles are what the commands of testdata/inputs.txt read, beside those of testdata/inputs.json: their bytes are
// no text of JSON.
var inputFiles = map[string]string{
	"utf16.csv":     "\xff\xfe1\x00,\x001\x00",
	"latin.csv":     "\xe4,v\n0,1\n1,1\n",
	"bytes.bin":     "\x00\x01\xfe\xff\x80",
	"picture.png":   "\x89PNG\r\n\x1a\n\x00\x00",
	"single.npy":    npyFile("<f4", "(2, 2)", "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f"),
	"whole.npy":     npyFile("|i1", "(2, 2)", "\x00\x01\x01\x01"),
	"truth.npy":     npyFile("|b1", "(2, 2)", "\x00\x01\x01\x01"),
	"big.npy":       npyFile(">i2", "(2, 2)", "\x00\x00\x00\x01\x00\x01\x00\x01"),
	"fortran.npy":   strings.Replace(npyFile("|i1", "(2, 2)", "\x00\x01\x01\x01"), "False,", "True, ", 1),
	"object.npy":    npyFile("|O", "(1, 1)", "(lp0"),
	"text.npy":      npyFile("<U1", "(1, 1)", "a\x00\x00\x00"),
	"scalar.npy":    npyFile("|u1", "()", "0"),
	"norows.npy":    npyFile("|u1", "(0, 2)", ""),
	"nocolumns.npy": npyFile("|u1", "(2, 0)", ""),
	"trailing.npy":  npyFile("|u1", "(1, 1)", "00"),
	"future.npy":    strings.Replace(npyFile("|u1", "(1, 1)", "0"), "\x01\x00", "\x09\x00", 1),
	"enormous.npy":  npyFile("<f8", "(10000000, 1000000)", "01234567"),
	"long.npy":      npyFile("<i8", "(1, 2)", "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"),
	"extended.npy":  npyFile("<f16", "(1, 1)", "0123456789abcdef"),
	"date.npy":      npyFile("<M8[D]", "(1, 1)", "01234567"),
	"record.npy":    strings.Replace(npyFile("<f8", "(1, 1)", "01234567"), "'<f8'", "[('a', '<f8')]", 1),
	"cuthead.npy":   npyFile("<f8", "(2, 2)", "")[:40],
	"cutmagic.npy":  "\x93NUM",
	"lie.npy":       npyFile("|u1", "(-2, 2)", "0123"),
	"empty.npz":     "PK\x05\x06" + strings.Repeat("\x00", 18),
	"half.npy":      npyFile("<f2", "(2, 2)", "\x00\x00\x00\x3c\x00\x3c\x00\x3c"),
	"complex.npy":   npyFile("<c16", "(1, 1)", "0123456789abcdef"),
	"cut.npy":       npyFile("<f8", "(2, 2)", "01234567"),
	"cube.npy":      npyFile("|u1", "(1, 1, 1)", "0"),
}

// npyFile is an NPY file of these bytes.
func npyFile(descr, shape, values string) string {
	dict := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
	return "\x93NUMPY\x01\x00v\x00" + dict + strings.Repeat(" ", 117-len(dict)) + "\n" + values
}

// Each kind of input, good and bad, ends as testdata/inputs.txt says: with its exit code, with one
// line that names what is wrong and the flag, and without a trace in the folder.
func TestInputs(t *testing.T) {
	table, texts := string(lab.Must(os.ReadFile("testdata/inputs.txt"))), lab.Must(os.ReadFile("testdata/inputs.json"))
	fixtures(t)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, member := range []zip.FileHeader{{Name: "x.npy", Method: zip.Deflate}, {Name: "stored.npy"}} {
		_, err := lab.Must(z.CreateHeader(&member)).Write([]byte(npyFile("|b1", "(2, 2)", "\x00\x01\x01\x01")))
		lab.Check(err)
	}
	lab.Check(z.Close())
	files := maps.Clone(inputFiles)
	lab.Check(json.Unmarshal(texts, &files))
	files["cloud.npz"] = archive.String()
	files["flat/1.png"] = string(lab.Must(os.ReadFile("pictures/top/0.png")))
	for name, text := range files {
		if dir, _, below := strings.Cut(name, "/"); below {
			lab.Check(os.MkdirAll(dir, 0o777))
		}
		lab.Check(os.WriteFile(name, []byte(text), 0o666))
	}
	lab.Check(os.Symlink("nowhere", "link.csv"))
	within := strings.NewReplacer("␣", " ", "␤", "\n", "LONG", strings.Repeat("a", 300))
	before := tree(t, ".")
	for _, row := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.HasPrefix(row, "#") {
			continue
		}
		cells := strings.SplitN(row, " | ", 3)
		t.Run(cells[1], func(t *testing.T) {
			want := lab.Must(strconv.Atoi(cells[0]))
			stdin := lab.Must(os.Open("y.csv"))
			defer stdin.Close()
			defer func(real *os.File) { os.Stdin = real }(os.Stdin)
			os.Stdin = stdin
			var stdout, stderr bytes.Buffer
			args := strings.Replace(cells[1], "S ", "solve --eps 1 --out o --y y.csv ", 1)
			words := strings.Fields(args)
			for i, w := range words {
				words[i] = within.Replace(w)
			}
			code := run(words, &stdout, &stderr)
			if code != want || !strings.Contains(stderr.String(), cells[2]) {
				t.Errorf("exit %d, want %d and %q:\n%s", code, want, cells[2], &stderr)
			}
			if errs := strings.Count("\n"+stderr.String(), "\ncoupling: "); code != 0 && errs != 1 {
				t.Errorf("%d errors:\n%s", errs, &stderr)
			}
			if code == 0 {
				lab.Check(os.RemoveAll("o"))
			}
			if !maps.Equal(before, tree(t, ".")) {
				t.Error("it has left or changed files")
			}
		})
	}
}
