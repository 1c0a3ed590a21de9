package main

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"coupling/lab"
)

// inputFiles are what the commands of testdata/inputs.txt read.
var inputFiles = map[string]string{
	"y.csv":          "0,1\n1,1\n",
	"header.csv":     "u,v\n0,1\n1,1\n",
	"mark.csv":       "\xef\xbb\xbfu,v\r\n0,1\r\n1,1",
	"tabs.txt":       "0\t1\n1\t1\n",
	"blanks.txt":     "# savetxt\n 0.0e0 1\n1 1\n",
	"semicolons.csv": "u;v\n0;1\n1;1\n",
	"quotes.csv":     "\"u, a\",v\n\"0\",1\n\n1,1\n",
	"rownumbers.csv": ",u,v\n0,0,1\n1,1,1\n",
	"na.csv":         "NA,NA\n1,1\n",
	"slip.csv":       "1.o,2.o\n1,1\n",
	"word.csv":       "u,v\n1,two\n",
	"hole.csv":       "1,1\n1,\n",
	"ragged.csv":     "1,1\n1\n",
	"comma.csv":      "1,5;2,0\n",
	"utf16.csv":      "\xff\xfe1\x00,\x001\x00",
	"empty.csv":      "",
	"nan.csv":        "0,nan\n",
	"inf.csv":        "0,inf\n",
	"huge.csv":       "1e200,1\n0,0\n",
	"three.csv":      "0,1,2\n",
	"odd,ü:1.csv":    "0,1\n1,1\n",
	"five.csv":       "1\n1\n1\n1\n1\n",
	"minus.csv":      "-1\n2\n",
	"zero.csv":       "0\n0\n",
	"nan1.csv":       "nan\n1\n",
	"two.csv":        "1\n1\n",
	"one.csv":        "0.5\n0.5\n",
	"wide.csv":       "0,1000\n1000,0\n",
	"forbidden.csv":  "inf,inf\n1,2\n",
	"latin.csv":      "\xe4,v\n0,1\n1,1\n",
	"savetxt.txt":    "# u v\n0.000000000000000000e+00 1.000000000000000000e+00\n1e0 1e0\n",
	"last.csv":       "0,1\n1,1",
	"line.csv":       "# a line\n0,1\n\n1,1\n",
	"nbsp.csv":       "0,\u00a01\n1,1\n",
	"later.csv":      "1,1\nNA,1\n",
	"names.csv":      "id,u,v\na,0,1\nb,1,1\n",
	"growing.csv":    "1\n1,1\n",
	"bytes.bin":      "\x00\x01\xfe\xff\x80",
	"minusinf.csv":   "0,-inf\n",
	"alone.csv":      "1\n",
	"rate.yaml":      "experiment: scones/rate\n",
	"with blank.csv": "0,1\n1,1\n",
	"'quote\".csv":   "0,1\n1,1\n",
	"new\nline.csv":  "0,1\n1,1\n",
	"twice.csv":      "u,v\nu,v\n1,1\n",
	"trailing.csv":   "1,1,\n2,1,\n",
	"minusword.csv":  "\u22121,1\n2,1\n",
	"hex.csv":        "1,1\n0x10,1\n",
	"thousands.csv":  "\"1,000\",1\n1,1\n",
	"overflow.csv":   "1,1\n1e400,1\n",
	"quote.csv":      "\"1,1\n2,1\n",
	"returns.csv":    "a,b\r1,1\r2,1\r",
	"object.json":    "{\"x\": [1, 2]}\n",
	"picture.png":    "\x89PNG\r\n\x1a\n\x00\x00",
	"blank.csv":      "\n\n\n",
	"headeronly.csv": "u,v\n",
	"-dash.csv":      "0,1\n1,1\n",
	"日本.csv":         "0,1\n1,1\n",
	"tabs.yaml":      "experiment: scones/rate\n\tdesign: x\n",
	"unknown.yaml":   "experiment: scones/none\n",
	"broken.go":      "package main\n\nfunc main( {\n",
	"single.npy":     npyFile("<f4", "(2, 2)", "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x80\x3f\x00\x00\x80\x3f"),
	"whole.npy":      npyFile("|i1", "(2, 2)", "\x00\x01\x01\x01"),
	"truth.npy":      npyFile("|b1", "(2, 2)", "\x00\x01\x01\x01"),
	"big.npy":        npyFile(">i2", "(2, 2)", "\x00\x00\x00\x01\x00\x01\x00\x01"),
	"fortran.npy":    strings.Replace(npyFile("|i1", "(2, 2)", "\x00\x01\x01\x01"), "False,", "True, ", 1),
	"object.npy":     npyFile("|O", "(1, 1)", "(lp0"),
	"text.npy":       npyFile("<U1", "(1, 1)", "a\x00\x00\x00"),
	"scalar.npy":     npyFile("|u1", "()", "0"),
	"norows.npy":     npyFile("|u1", "(0, 2)", ""),
	"nocolumns.npy":  npyFile("|u1", "(2, 0)", ""),
	"trailing.npy":   npyFile("|u1", "(1, 1)", "00"),
	"future.npy":     strings.Replace(npyFile("|u1", "(1, 1)", "0"), "\x01\x00", "\x09\x00", 1),
	"enormous.npy":   npyFile("<f8", "(10000000, 1000000)", "01234567"),
	"long.npy":       npyFile("<i8", "(1, 2)", "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"),
	"extended.npy":   npyFile("<f16", "(1, 1)", "0123456789abcdef"),
	"date.npy":       npyFile("<M8[D]", "(1, 1)", "01234567"),
	"record.npy":     strings.Replace(npyFile("<f8", "(1, 1)", "01234567"), "'<f8'", "[('a', '<f8')]", 1),
	"cuthead.npy":    npyFile("<f8", "(2, 2)", "")[:40],
	"cutmagic.npy":   "\x93NUM",
	"lie.npy":        npyFile("|u1", "(-2, 2)", "0123"),
	"empty.npz":      "PK\x05\x06" + strings.Repeat("\x00", 18),
	"text.npz":       "0,1\n1,1\n",
	"broken.npz":     "PK\x03\x04broken",
	"half.npy":       npyFile("<f2", "(2, 2)", "\x00\x00\x00\x3c\x00\x3c\x00\x3c"),
	"complex.npy":    npyFile("<c16", "(1, 1)", "0123456789abcdef"),
	"cut.npy":        npyFile("<f8", "(2, 2)", "01234567"),
	"cube.npy":       npyFile("|u1", "(1, 1, 1)", "0"),
	"mine/plan.npy":  "mine",
	"flat/1.png":     "",
	"folder/note":    "",
}

// npyFile is an NPY file of these bytes.
func npyFile(descr, shape, values string) string {
	dict := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
	return "\x93NUMPY\x01\x00v\x00" + dict + strings.Repeat(" ", 117-len(dict)) + "\n" + values
}

// Each kind of input, good and bad, ends as testdata/inputs.txt says: with its exit code, with one
// line that names what is wrong and the flag, and without a trace in the folder.
func TestInputs(t *testing.T) {
	table := string(lab.Must(os.ReadFile("testdata/inputs.txt")))
	fixtures(t)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, member := range []zip.FileHeader{{Name: "x.npy", Method: zip.Deflate}, {Name: "stored.npy"}} {
		_, err := lab.Must(z.CreateHeader(&member)).Write([]byte(npyFile("|b1", "(2, 2)", "\x00\x01\x01\x01")))
		lab.Check(err)
	}
	lab.Check(z.Close())
	files := maps.Clone(inputFiles)
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
