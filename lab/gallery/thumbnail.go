package gallery

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"regexp"
	"strings"

	"golang.org/x/image/draw"
)

// Thumbnail returns the PNG of r at most width pixels wide, as a PNG, or as a JPEG
// where that has more than limit bytes; ext is ".png" or ".jpg".
func Thumbnail(r io.Reader, width, limit int) (b []byte, ext string, err error) {
	img, err := png.Decode(r)
	if err != nil {
		return nil, "", err
	}
	size := img.Bounds().Size()
	width = min(width, size.X)
	small := image.NewRGBA(image.Rect(0, 0, width, max(1, size.Y*width/size.X)))
	draw.CatmullRom.Scale(small, small.Bounds(), img, img.Bounds(), draw.Src, nil)
	var buf bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&buf, small); err != nil ||
		buf.Len() <= limit {
		return buf.Bytes(), ".png", err
	}
	for quality := 90; quality > 0; quality -= 10 {
		buf.Reset()
		if err := jpeg.Encode(&buf, small, &jpeg.Options{Quality: quality}); err != nil || buf.Len() <= limit {
			return buf.Bytes(), ".jpg", err
		}
	}
	return nil, "", fmt.Errorf("a picture of %d×%d pixels is not below %d bytes", size.X, size.Y, limit)
}

func anchor(name string) string { return strings.ReplaceAll(name, "/", "-") }

var script = regexp.MustCompile(`[_^]\{([^}]*)\}`)

// Plain removes the marks of subscripts and superscripts: "W_{1}" becomes "W1".
func Plain(text string) string { return script.ReplaceAllString(text, "$1") }
