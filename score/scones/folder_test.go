package scones_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"

	"coupling/data"
	"coupling/lab/must"
	"coupling/score/scones"
)

// paint fills a folder with pictures of noisy stripes of a colour, and stands for a user's own.
func paint(rng *rand.Rand, dir string, c color.RGBA) string {
	must.Do(os.MkdirAll(dir, 0o777))
	for k := range 30 {
		p := image.NewRGBA(image.Rect(0, 0, 12, 12))
		for i := range 144 {
			if i/12%4 < 2 {
				p.SetRGBA(i%12, i/12, color.RGBA{c.R + uint8(rng.IntN(40)), c.G + uint8(rng.IntN(40)), c.B, 255})
			}
		}
		f := must.Get(os.Create(filepath.Join(dir, fmt.Sprintf("%02d.png", k))))
		must.Do(png.Encode(f, p))
		f.Close()
	}
	return dir
}

// Pictures of one folder are sent to what looks like pictures of another.
func ExampleFit_folders() {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	red, green := paint(rng, filepath.Join(dir, "red"), color.RGBA{R: 200}),
		paint(rng, filepath.Join(dir, "green"), color.RGBA{G: 200})

	x, err := data.Folder{Dir: red, Size: 8}.Load(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := data.Folder{Dir: green, Size: 8}.Load(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fitted, err := scones.Fit{Mean: true}.Run(ctx, rng, x.Mat(), y.Mat())
	if err != nil {
		fmt.Println(err)
		return
	}
	samples, err := fitted.Sample(ctx, rng, x.Mat(), 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	images, err := data.FromMat(samples, 3, 8, 8, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %d pictures, red %.1f, green %.1f\n", fitted.Plan.Status, images.Len(), images.Row(0)[0],
		images.Row(0)[64])
	// Output:
	// converged: 60 pictures, red 0.1, green 0.8
}
