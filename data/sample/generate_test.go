package sample

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/data"
	"coupling/lab/must"
)

var update = flag.Bool("update", false,
	"make the files from the official ones, and CIFAR-10's from the folder cifar10-subset")

// The files are made by go generate ./data/sample.
func TestGenerate(t *testing.T) {
	if !*update {
		t.Skip("with -update only")
	}
	must.Do(generate(t.Context(), "."))
}

// indices is the rule by which samples are made: the positions, ascending, of the first n/10 images of each of ten
// classes. It returns an error when a class has fewer.
func indices(labels []int, n int) ([]int, error) {
	var out []int
	var taken [10]int
	for i, l := range labels {
		if taken[l] < n/10 {
			taken[l]++
			out = append(out, i)
		}
	}
	if len(out) != n {
		return nil, fmt.Errorf("sample: the first %d images of each class are %d in all: want %d", n/10, len(out), n)
	}
	return out, nil
}

// generate writes all samples and the list of their checksums below dir.
func generate(ctx context.Context, dir string) error {
	var sums strings.Builder
	for _, s := range sets() {
		for split, n := range []int{data.Train: s.Train, data.Test: s.Test} {
			m, err := data.LoadNamed(ctx, data.From{Origin: data.Subset}, s.Name, data.Split(split))
			if err != nil {
				return err
			}
			chosen, err := indices(m.Labels, n)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			if err := write(&sums, dir, s, s.Name+"/"+data.Split(split).String(), m.Take(chosen)); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// write writes the labels and the sheets of one split.
func write(sums io.Writer, dir string, s set, base string, m *data.Images) error {
	var labels strings.Builder
	for i, l := range m.Labels {
		fmt.Fprint(&labels, l)
		if i%columns == columns-1 {
			fmt.Fprintln(&labels)
		}
	}
	if err := put(sums, dir, base+"-labels.txt", labels.String()); err != nil {
		return err
	}
	for k := 0; k*s.Sheet < m.Len(); k++ {
		var b strings.Builder
		if err := s.Levels.encode(&b, m.Slice(k*s.Sheet, min((k+1)*s.Sheet, m.Len()))); err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
		if err := put(sums, dir, fmt.Sprintf("%s-%d.png", base, k), b.String()); err != nil {
			return err
		}
	}
	return nil
}

// put writes one file and its line of SHA256SUMS.
func put(sums io.Writer, dir, path, content string) error {
	full := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	fmt.Fprintf(sums, "%x  %s\n", sha256.Sum256([]byte(content)), path)
	return os.WriteFile(full, []byte(content), 0o644)
}

// encode writes m, of one or three channels. It refuses values that are not levels.
func (l levels) encode(w io.Writer, m *data.Images) error {
	n, c, height, width := m.Shape()
	frame := image.Rect(0, 0, min(n, columns)*width, (n+columns-1)/columns*height)
	grey, deep, colour := image.NewGray(frame), image.NewGray16(frame), image.NewRGBA(frame)
	for i := range n {
		for at, v := range m.Row(i) {
			k := int(math.Round((float64(v) - float64(m.Lo)) / (float64(m.Hi) - float64(m.Lo)) * float64(l-1)))
			if l.value(m, k) != v {
				return fmt.Errorf("sheet: image %d: value %v is none of %d levels in [%v, %v]", i, v, l, m.Lo, m.Hi)
			}
			channel, y, x := at/(height*width), i/columns*height+at/width%height, i%columns*width+at%width
			switch {
			case c == 3:
				p := colour.PixOffset(x, y)
				colour.Pix[p+channel], colour.Pix[p+3] = uint8(k*l.unit()), 255
			case l > 256:
				deep.SetGray16(x, y, color.Gray16{Y: uint16(k * l.unit())})
			default:
				grey.SetGray(x, y, color.Gray{Y: uint8(k * l.unit())})
			}
		}
	}
	var picture image.Image = grey
	if c == 3 {
		picture = colour
	} else if l > 256 {
		picture = deep
	}
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, picture)
}
