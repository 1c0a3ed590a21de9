package paper

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/png"
	"io"
	"math"

	"gonum.org/v1/plot/vg/vgimg"
)

// pngCanvas writes what vgimg drew, with the resolution noted so that the picture has its true size in a document.
type pngCanvas struct {
	*vgimg.Canvas
	dpi int
}

// WriteTo writes the picture as PNG.
func (c pngCanvas) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, c.Image()); err != nil {
		return 0, err
	}
	const header = 8 + 4 + 4 + 13 + 4 // signature and IHDR, which comes first
	raw := b.Bytes()
	var n int64
	for _, part := range [][]byte{raw[:header], resolution(c.dpi), raw[header:]} {
		k, err := w.Write(part)
		n += int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// resolution is the pHYs chunk: pixels per metre in x and y.
func resolution(dpi int) []byte {
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}
