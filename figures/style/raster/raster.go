package raster

import (
	"image"
	"math"

	"golang.org/x/image/draw"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"

	"coupling/figures/style/paper"
)

// PrintDPI is the least resolution of bitmaps in SVG and PDF.
const PrintDPI = 300

// Dots returns the number of dots that a rectangle should have on the canvas's device, and, where the device is a
// bitmap itself, the rectangle in its dots, counted from its upper left corner.
func Dots(c vg.Canvas, r vg.Rectangle) (w, h int, target draw.Image, at image.Rectangle) {
	dev, ok := paper.Device(c).(interface {
		vg.CanvasSizer
		DPI() float64
		Image() draw.Image
	})
	if !ok {
		w = max(1, int(math.Round(r.Size().X.Dots(PrintDPI))))
		h = max(1, int(math.Round(r.Size().Y.Dots(PrintDPI))))
		return w, h, nil, image.Rectangle{}
	}
	_, height := dev.Size()
	dot := func(l vg.Length) int { return int(math.Round(l.Dots(dev.DPI()))) }
	at = image.Rect(dot(r.Min.X), dot(height-r.Max.Y), dot(r.Max.X), dot(height-r.Min.Y))
	at.Max.X, at.Max.Y = max(at.Max.X, at.Min.X+1), max(at.Max.Y, at.Min.Y+1)
	return at.Dx(), at.Dy(), dev.Image(), at
}

// Draw draws an image into a rectangle. On a bitmap its pixels are placed on the dots, on paper they are first
// repeated a whole number of times so that viewers do not smear them.
func Draw(c vg.Canvas, r vg.Rectangle, img image.Image) {
	w, h, target, at := Dots(c, r)
	if target != nil {
		draw.NearestNeighbor.Scale(target, at, img, img.Bounds(), draw.Over, nil)
		return
	}
	b := img.Bounds()
	kx, ky := whole(w, b.Dx()), whole(h, b.Dy())
	if kx*ky > 1 {
		big := image.NewRGBA(image.Rect(0, 0, b.Dx()*kx, b.Dy()*ky))
		draw.NearestNeighbor.Scale(big, big.Bounds(), img, b, draw.Src, nil)
		img = big
	}
	c.DrawImage(r, img)
}

// whole is the factor, at least 1, by which n pixels are repeated to make at least half of the wanted dots.
func whole(want, n int) int { return max(1, (want+n-1)/max(n, 1)) }

// Bins returns the number of samples for n cells on some dots. Few cells stay as they are and are repeated; on a
// bitmap, cells of some one to four dots are resampled, because repeating them would make them visibly unequal.
func Bins(n, dots int, bitmap bool) int {
	if n > dots || (bitmap && dots < 4*n) {
		return dots
	}
	return n
}

// Resample averages a matrix over w×h equal bins, which keeps mass. NaN and infinite cells do not
// count; where no cell counts the value is NaN. Cost: one pass over the matrix.
func Resample(m mat.Matrix, w, h int) (values []float64) {
	r, c := m.Dims()
	values, weight := make([]float64, w*h), make([]float64, w*h)
	across, down := overlaps(c, w), overlaps(r, h)
	buf := make([]float64, c)
	for i := range r {
		row := Row(m, i, buf)
		for _, d := range down[i] {
			to := d.bin * w
			pour(values[to:to+w], weight[to:to+w], row, across, d.part)
		}
	}
	for i := range values {
		values[i] /= weight[i] // 0/0 is NaN
	}
	return values
}

// pour adds a part of one row of the matrix to a row of bins.
func pour(values, weight, row []float64, across [][]overlap, part float64) {
	for j, v := range row {
		if v-v != 0 { // NaN or infinite
			continue
		}
		for _, a := range across[j] {
			weight[a.bin] += part * a.part
			values[a.bin] += part * a.part * v
		}
	}
}

// overlap is a bin and how much of a cell lies in it.
type overlap struct {
	bin  int
	part float64
}

// overlaps distributes n cells over equal bins. Integer arithmetic keeps the parts exact: cell i spans
// [i·bins, (i+1)·bins) and bin k spans [k·n, (k+1)·n).
func overlaps(n, bins int) [][]overlap {
	out := make([][]overlap, n)
	for i := range out {
		for k := i * bins / n; k*n < (i+1)*bins; k++ {
			part := min((i+1)*bins, (k+1)*n) - max(i*bins, k*n)
			out[i] = append(out[i], overlap{bin: k, part: float64(part)})
		}
	}
	return out
}

// Row returns row i without a copy where the matrix allows.
func Row(m mat.Matrix, i int, buf []float64) []float64 {
	if d, ok := m.(mat.RawRowViewer); ok {
		return d.RawRowView(i)
	}
	for j := range buf {
		buf[j] = m.At(i, j)
	}
	return buf
}
