package data

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDXSetFromFolder(t *testing.T) {
	set, files := tinyMNIST()
	for name, pack := range map[string]bool{"packed": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			dir := t.TempDir()
			for file, b := range files {
				if pack {
					put(filepath.Join(dir, "tiny", file+".gz"), gzipped(b))
				} else {
					put(filepath.Join(dir, "tiny", file), b)
				}
			}
			m, err := set.load(t.Context(), From{Dir: dir}, Train)
			checkTinyMNIST(t, m, err)
			m, err = set.load(t.Context(), From{Dir: filepath.Join(dir, "tiny")}, Train)
			checkTinyMNIST(t, m, err)
			if m, err = set.load(t.Context(), From{Dir: dir}, Test); err != nil || m.Len() != 1 ||
				m.Name != "tiny/test" {
				t.Errorf("test split: %v", err)
			}
			_, err = set.load(t.Context(), From{Dir: dir}, Valid)
			wantError(t, err, "tiny: split = valid: must be train or test")
		})
	}
}

// Whatever is wrong with a file, it is named, refused, and left where it is.
func TestIDXSetRefuses(t *testing.T) {
	set, files := tinyMNIST()
	good := files["train-images"]
	flipped := bytes.Clone(good)
	flipped[500] ^= 1
	other := bytes.Clone(good)
	other[7]++
	damaged := gzipped(good)
	damaged[len(damaged)-6] ^= 1
	for name, test := range map[string]struct {
		file []byte
		text string
	}{
		"empty":              {nil, "truncated"},
		"truncated":          {good[:1000], "truncated"},
		"truncated gzip":     {gzipped(good)[:30], "gzip: truncated"},
		"damaged gzip":       {damaged, "gzip: damaged"},
		"trailing":           {append(bytes.Clone(good), 0), "more than expected"},
		"trailing packed":    {append(gzipped(good), "garbage at the end"...), "gzip"},
		"one bit flipped":    {flipped, "SHA-256"},
		"labels as images":   {files["train-labels"], "SHA-256"},
		"other size":         {other, "limit"},
		"web page":           {[]byte("<!DOCTYPE html><html>"), "magic number"},
		"gzip bomb of zeros": {gzipped(make([]byte, 1<<24)), "magic number"},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			dir := t.TempDir()
			path := filepath.Join(dir, "train-images.gz")
			put(path, test.file)
			put(filepath.Join(dir, "train-labels.gz"), gzipped(files["train-labels"]))
			m, err := set.load(t.Context(), From{Dir: dir}, Train)
			if !errors.Is(err, ErrCorrupt) || m != nil {
				t.Errorf("error %v: want ErrCorrupt and no images", err)
			}
			wantError(t, err, path, test.text)
			if _, err := os.Stat(path); err != nil {
				t.Error("the file was removed")
			}
		})
	}
}

func TestLoadIsCancelled(t *testing.T) {
	set, files := tinyMNIST()
	dir := t.TempDir()
	for file, b := range files {
		put(filepath.Join(dir, file), b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.load(ctx, From{Dir: dir}, Train); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want context.Canceled", err)
	}
}

// Class counts and moments as published (LeCun's site; Xiao et al. 2017; the
// usual normalisation constants 0.1307, 0.3081 and 0.2860, 0.3530 of the
// training sets, four digits).
func TestRealMNIST(t *testing.T) {
	for _, test := range []struct {
		name      string
		load      func(context.Context, From, Split) (*Images, error)
		split     Split
		counts    []int
		mean, std float64
	}{
		{"mnist/train", MNIST, Train, []int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949},
			0.1307, 0.3081},
		{"mnist/test", MNIST, Test, []int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}, 0, 0},
		{"fashion-mnist/train", FashionMNIST, Train, []int{6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000, 6000},
			0.2860, 0.3530},
		{"fashion-mnist/test", FashionMNIST, Test,
			[]int{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.split == Train {
				t.Skip("60,000 images")
			}
			m := realData(t, test.load, test.split)
			if n, c, h, w := m.Shape(); n != len(m.Labels) || c != 1 || h != 28 || w != 28 || m.Name != test.name {
				t.Errorf("%s: shape %d×%d×%d×%d", m.Name, n, c, h, w)
			}
			if diff := cmp.Diff(test.counts, counts(m)); diff != "" {
				t.Error(diff)
			}
			if len(m.Classes) != 10 {
				t.Errorf("classes %q", m.Classes)
			}
			if test.mean == 0 {
				return
			}
			if mean, std := moments(m); math.Abs(mean-test.mean) > 5e-5 || math.Abs(std-test.std) > 5e-5 {
				t.Errorf("mean %.4f, standard deviation %.4f: want %v, %v", mean, std, test.mean, test.std)
			}
		})
	}
}
