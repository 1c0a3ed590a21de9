package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"coupling/lab/must"
)

func TestCIFARArchive(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tar.gz")
	names := []string{"data_batch_2.bin", "data_batch_1.bin", "test_batch.bin"}
	b := tinyCIFAR(names...)
	put(path, b)
	m := must.Get(readCIFARArchive(t.Context(), path, sum(b), "cifar10/train", Train))
	// The batches come in the order of their numbers, not of the archive.
	if fmt.Sprint(m.Labels) != "[1 2 0 1]" || m.Classes[9] != "truck" || m.Row(1)[3071] != float32(2)/255 {
		t.Errorf("labels %v, classes %v, value %v", m.Labels, m.Classes, m.Row(1)[3071])
	}
	if n, c, h, w := m.Shape(); n != 4 || c != 3 || h != 32 || w != 32 {
		t.Errorf("shape %d×%d×%d×%d", n, c, h, w)
	}
	if m, err := readCIFARArchive(t.Context(), path, "", "x", Test); err != nil || fmt.Sprint(m.Labels) != "[2 3]" {
		t.Errorf("test labels %v, error %v", m.Labels, err)
	}

	_, err := readCIFARArchive(t.Context(), path, sum([]byte("official")), "x", Train)
	wantError(t, err, path, "SHA-256")
	put(path, b[:len(b)-200])
	_, err = readCIFARArchive(t.Context(), path, "", "x", Train)
	wantError(t, err, path, "truncated")
	put(path, tinyCIFAR("data_batch_1.bin"))
	_, err = readCIFARArchive(t.Context(), path, "", "x", Test)
	wantError(t, err, path, "no test images")
}

func TestCIFARFolder(t *testing.T) {
	dir := t.TempDir()
	one, two := cifarRecords(1, 2), cifarRecords(3)
	put(filepath.Join(dir, "one.bin"), one)
	put(filepath.Join(dir, "two.bin"), two)
	files := []cifarFile{{"one.bin", sum(one)}, {"two.bin", sum(two)}}
	m, err := readCIFARFolder(t.Context(), dir, files, "x")
	if err != nil || fmt.Sprint(m.Labels) != "[1 2 3]" {
		t.Fatalf("labels %v, error %v", m.Labels, err)
	}
	put(filepath.Join(dir, "two.bin"), append(bytes.Clone(two), 1))
	_, err = readCIFARFolder(t.Context(), dir, files, "x")
	wantError(t, err, "two.bin", "truncated: 1 bytes of record 1")
	put(filepath.Join(dir, "two.bin"), cifarRecords(4))
	_, err = readCIFARFolder(t.Context(), dir, files, "x")
	wantError(t, err, "two.bin", "SHA-256")
	_, err = readCIFARFolder(t.Context(), t.TempDir(), files, "x")
	wantError(t, err, "one.bin", "no such file")
}

// The official files come first and must be official; a subset is taken only
// where it belongs, and says so.
func TestCIFAR10Choice(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	subset := tinyCIFAR("data_batch_1.bin", "test_batch.bin")
	put(filepath.Join(dir, "cifar10-subset", cifarSubset), subset)
	m, err := CIFAR10(t.Context(), From{Dir: dir, Origin: Subset}, Train)
	if err != nil || m.Name != "cifar10-subset/train" || m.Len() != 2 {
		t.Fatalf("the subset: %v", err)
	}
	_, err = CIFAR10(t.Context(), From{Dir: dir}, Train)
	if !errors.Is(err, ErrMissing) {
		t.Errorf("a subset in place of the official files, or: %v", err)
	}
	_, err = CIFAR10(t.Context(), From{Dir: dir}, Valid)
	wantError(t, err, "split = valid")

	put(filepath.Join(dir, "cifar10", cifarArchive), subset)
	_, err = CIFAR10(t.Context(), From{Dir: dir}, Train)
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("a subset in the place of the official archive: error %v", err)
	}
	wantError(t, err, cifarArchive, cifar10().sha256)

	dir = t.TempDir()
	put(filepath.Join(dir, "cifar10", cifarFolder, "test_batch.bin"), cifarRecords(1))
	_, err = CIFAR10(t.Context(), From{Dir: dir}, Test)
	wantError(t, err, "test_batch.bin", "SHA-256")
}

// realCIFAR is Subset where only that is here.
func realCIFAR() Origin {
	for _, p := range Status(From{}) {
		if p.Subset {
			return Subset
		}
	}
	return Official
}

func TestRealCIFAR10(t *testing.T) {
	for split, n := range map[Split]int{Train: 50_000, Test: 10_000} {
		if testing.Short() && split == Train {
			continue
		}
		m := realData(t, func(ctx context.Context, from From, split Split) (*Images, error) {
			from.Origin = realCIFAR()
			return CIFAR10(ctx, from, split)
		}, split)
		switch m.Name {
		case "cifar10/" + split.String():
		case "cifar10-subset/" + split.String():
			n /= 5
		default:
			t.Errorf("name %q", m.Name)
		}
		if got := counts(m); !slices.Equal(got, slices.Repeat([]int{n / 10}, 10)) {
			t.Errorf("%s: classes of %v: want %d each", m.Name, got, n/10)
		}
		if mean, std := moments(m); mean < 0.45 || mean > 0.5 || std < 0.24 || std > 0.26 {
			// The full training set has 0.4734 and 0.2516 over all channels.
			t.Errorf("%s: mean %.4f, standard deviation %.4f", m.Name, mean, std)
		}
	}
}
