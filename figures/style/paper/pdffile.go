package paper

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
)

// pdfFile assembles numbered objects and their cross-reference table.
type pdfFile struct {
	bytes.Buffer
	offsets []int
}

// object begins the next object and returns its number.
func (f *pdfFile) object(body string) int {
	f.offsets = append(f.offsets, f.Len())
	n := len(f.offsets)
	fmt.Fprintf(f, "%d 0 obj\n%s\nendobj\n", n, body)
	return n
}

// stream writes a compressed stream object; dict holds further entries of its dictionary.
func (f *pdfFile) stream(dict string, data []byte) int {
	var z bytes.Buffer
	w, err := zlib.NewWriterLevel(&z, zlib.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // a buffer takes every write and the level is valid
		panic(err)
	}
	return f.object(fmt.Sprintf("<<%s/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", dict, z.Len(), z.String()))
}

// WriteTo writes the document. The canvas may be drawn on further and written again.
func (c *PDF) WriteTo(w io.Writer) (int64, error) {
	var f pdfFile
	f.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")

	content := f.stream("", c.page.Bytes())
	var states, images bytes.Buffer
	for k, a := range c.alphas {
		fmt.Fprintf(&states, "/A%d<</ca %s/CA %[2]s>>", k, number(float64(a)/255))
	}
	for k, m := range c.images {
		fmt.Fprintf(&images, "/I%d %d 0 R", k, f.image(m))
	}

	// The page's parent is the object after it, the catalogue the one after that.
	page := len(f.offsets) + 1
	f.object(fmt.Sprintf("<</Type/Page/Parent %d 0 R/MediaBox[0 0 %s %s]/Contents %d 0 R/Resources<</ExtGState<<%s>>/XObject<<%s>>>>>>",
		page+1, number(c.w.Points()), number(c.h.Points()), content, states.String(), images.String()))
	f.object(fmt.Sprintf("<</Type/Pages/Kids[%d 0 R]/Count 1>>", page))
	root := f.object(fmt.Sprintf("<</Type/Catalog/Pages %d 0 R>>", page+1))

	start := f.Len()
	fmt.Fprintf(&f, "xref\n0 %d\n0000000000 65535 f \n", len(f.offsets)+1)
	for _, at := range f.offsets {
		fmt.Fprintf(&f, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&f, "trailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(f.offsets)+1, root, start)
	return f.Buffer.WriteTo(w)
}

// image writes an image, after its mask where it has one.
func (f *pdfFile) image(m pdfImage) int {
	head := fmt.Sprintf("/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8", m.w, m.h)
	mask := ""
	if m.mask != nil {
		mask = fmt.Sprintf("/SMask %d 0 R", f.stream(head+"/ColorSpace/DeviceGray", m.mask))
	}
	return f.stream(head+"/ColorSpace/DeviceRGB"+mask, m.rgb)
}
