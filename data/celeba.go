package data

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the lists' published checksums, against damage
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coupling/data/format"
)

// CelebA selects faces and how they are prepared. The zero value
// prepares the training images as SCONES does: the central 140×140 pixels,
// resized to 64×64 with Pillow's bilinear filter on bytes, as the papers' code
// does; the SCONES paper's text says nearest neighbour. SCONES' even faces are
// those at positions 1, 3, 5, … of the training split ([Pictures.Take]), and its
// Blur-CelebA is faces of Size 32 resized to 64.
//
// CelebA (Liu et al. 2015) may not be passed on, so it is never downloaded: get
// it from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html and lay it out as
// celeba/img_align_celeba/000001.jpg…, celeba/list_attr_celeba.txt and
// celeba/list_eval_partition.txt in one of the folders that [From] describes.
type CelebA struct {
	From  From
	Split Split
	// With and Without name attributes that a face must have and must not have,
	// e.g. With: []string{"Male"}.
	With, Without []string
	// Label names the attribute that becomes the label: 0 without it, 1 with it.
	// DP-Sinkhorn's condition is "Male". Empty: no labels.
	Label string
	Whole bool // nothing is cropped: all 178×218 pixels are resized to a square, as DP-Sinkhorn's code does
	Size  int  // side of the images returned; zero: 64
}

// celebaCrop is the side of the central square that is kept.
const celebaCrop = 140

const (
	celebaImages   = 202_599 // in the official data set
	maxCelebaRows  = 1 << 20 // rows that a list may have
	celebaAttrMD5  = "75e246fa4810816ffd6ee81facbd244c"
	celebaPartMD5  = "d32c9cbf5e040fd4025c592c306e6668"
	celebaFolder   = "img_align_celeba"
	celebaAttrFile = "list_attr_celeba.txt"
	celebaPartFile = "list_eval_partition.txt"
)

// Open reads the lists and returns the faces they select, 3×Size×Size in [0, 1];
// no image is opened.
// Lists with the official number of images must have the official checksum;
// with another number the name begins with "celeba-subset". The error wraps
// [ErrMissing] when there is no CelebA, [ErrCorrupt] when a list is damaged.
func (c CelebA) Open() (*Pictures, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	images := c.From.find("celeba", celebaFolder)
	if images == "" {
		return nil, fmt.Errorf("data: celeba: %w: no celeba/%s in %s; fix: %s",
			ErrMissing, celebaFolder, strings.Join(c.From.roots(), ", "), fixCelebA(c.From))
	}
	dir := filepath.Dir(images)
	attributes, err := readList(c.From, filepath.Join(dir, celebaAttrFile), celebaAttrMD5, format.ReadCelebAAttributes)
	if err != nil {
		return nil, err
	}
	partition, err := readList(c.From, filepath.Join(dir, celebaPartFile), celebaPartMD5, format.ReadCelebAPartition)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(attributes.Files, partition.Files) {
		return nil, corrupt(dir, "%s and %s list different images", celebaAttrFile, celebaPartFile)
	}
	return c.choose(images, attributes, partition)
}

func (c CelebA) check() error {
	switch {
	case c.Size < 0 || c.Size > 1<<12:
		return fmt.Errorf("data: celeba: Size = %d: must be in [0, 4096]", c.Size)
	case c.Split < Train || c.Split > Valid:
		return fmt.Errorf("data: celeba: Split = %v: must be train, valid or test", c.Split)
	}
	return nil
}

func fixCelebA(from From) string {
	return fmt.Sprintf(
		"from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html get img_align_celeba.zip (unpacked), %s and %s into %s",
		celebaAttrFile, celebaPartFile, filepath.Join(from.home(), "celeba"))
}

// readList reads a list and compares the MD5 of one of official length.
func readList(from From, path, sum string, parse func(io.Reader,
	int) (*format.CelebAList, error)) (*format.CelebAList, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data: celeba: %w: %w; fix: %s", ErrMissing, err, fixCelebA(from))
	}
	if err != nil {
		return nil, fmt.Errorf("data: celeba: %w", err)
	}
	defer file.Close()
	hash := md5.New() //nolint:gosec // against damage, not against forgery
	list, err := parse(io.TeeReader(file, hash), maxCelebaRows)
	if err != nil {
		return nil, inFile(path, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); len(list.Files) == celebaImages && got != sum {
		return nil, corrupt(path, "MD5 %s, want %s", got, sum)
	}
	return list, nil
}

// choose applies split and attributes.
func (c CelebA) choose(dir string, attributes, partition *format.CelebAList) (*Pictures, error) {
	with, err := attributeIndices(attributes, "With", c.With...)
	if err != nil {
		return nil, err
	}
	without, err := attributeIndices(attributes, "Without", c.Without...)
	if err != nil {
		return nil, err
	}
	size := cmp.Or(c.Size, 64)
	faces := &Pictures{Name: "celeba/" + c.Split.String(), c: 3, h: size, w: size}
	faces.read = func(k int) (*Images, error) { return c.face(faces.Files[k]) }
	if len(attributes.Files) != celebaImages {
		faces.Name = "celeba-subset/" + c.Split.String()
	}
	var label []int
	if c.Label != "" {
		if label, err = attributeIndices(attributes, "Label", c.Label); err != nil {
			return nil, err
		}
		faces.Labels, faces.Classes = []int{}, []string{"not " + c.Label, c.Label}
	}
	part := map[Split]uint8{Train: 0, Valid: 1, Test: 2}[c.Split]
	for i, name := range attributes.Files {
		if partition.Values[i][0] != part {
			continue
		}
		has := func(j int) bool { return attributes.Values[i][j] == 1 }
		hasNot := func(j int) bool { return !has(j) }
		if slices.ContainsFunc(with, hasNot) || slices.ContainsFunc(without, has) {
			continue
		}
		faces.Files = append(faces.Files, filepath.Join(dir, name))
		for _, j := range label {
			faces.Labels = append(faces.Labels, int(attributes.Values[i][j]))
		}
	}
	return faces, nil
}

func attributeIndices(attributes *format.CelebAList, field string, names ...string) ([]int, error) {
	indices := make([]int, len(names))
	for i, name := range names {
		if indices[i] = slices.Index(attributes.Names, name); indices[i] < 0 {
			return nil, fmt.Errorf("data: celeba: %s = %q: want one of %s", field, name,
				strings.Join(attributes.Names, " "))
		}
	}
	return indices, nil
}

// face reads one JPEG file, crops and resizes it.
//
// Go's decoder and libjpeg differ in the rounding of the cosine transform and in
// smoothing subsampled colours. After the resize to 64×64 their images agree to
// 3 of 255 levels, half a level on average (compared with Pillow 9.4).
func (c CelebA) face(path string) (*Images, error) {
	picture, err := readPicture(path)
	if err != nil {
		return nil, err
	}
	bounds := picture.Bounds()
	if !c.Whole {
		if bounds.Dx() < celebaCrop || bounds.Dy() < celebaCrop {
			return nil, corrupt(path, "it has %d×%d pixels: want at least %d×%d", bounds.Dx(), bounds.Dy(), celebaCrop,
				celebaCrop)
		}
		bounds = centre(bounds, celebaCrop)
	}
	size := cmp.Or(c.Size, 64)
	return fromPicture(picture, bounds).Resize(size, size, Bilinear8)
}
