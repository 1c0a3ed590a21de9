package data

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"coupling/data/format"
)

const (
	cifarArchive = "cifar-10-binary.tar.gz"
	cifarFolder  = "cifar-10-batches-bin"
	cifarSubset  = "cifar-10-binary-subset.tar.gz"
	cifarBatch   = 10_000 // images in each official file
)

func cifar10() remote {
	return remote{
		set:      "cifar10",
		name:     cifarArchive,
		unpacked: cifarFolder,
		bases: []string{
			"https://www.cs.toronto.edu/~kriz/",
			"https://cave.cs.toronto.edu/kriz/",
		},
		sha256:   "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
		maxBytes: 170052171,
		size:     200 << 20,
	}
}

// cifarFile is an unpacked official file.
type cifarFile struct{ name, sha256 string }

func cifarFiles() map[Split][]cifarFile {
	return map[Split][]cifarFile{
		Train: {
			{"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
			{"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
			{"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
			{"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
			{"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
		},
		Test: {{"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}},
	}
}

// CIFAR10 returns the 50,000 training or 10,000 test images of CIFAR-10
// (Krizhevsky 2009), 3×32×32 in [0, 1]. There is no Valid split.
//
// It takes, in this order, the official archive cifar10/cifar-10-binary.tar.gz,
// its unpacked files cifar10/cifar-10-batches-bin/*.bin, or a download; with
// Origin Subset the archive in a folder cifar10-subset, which is not pinned by a
// checksum of its own, only by its layout and by gzip's. The name of its images
// begins with "cifar10-subset". Errors are those of [MNIST].
func CIFAR10(ctx context.Context, from From, split Split) (*Images, error) {
	if m, err := from.sample("cifar10", split, cifarClasses()); m != nil || err != nil {
		return m, err
	}
	official := cifar10()
	if from.Origin == Subset {
		path := from.find("cifar10-subset", cifarSubset)
		if path == "" {
			return nil, fmt.Errorf("data: cifar10: %w: no %s in %s", ErrMissing,
				filepath.Join("cifar10-subset", cifarSubset), strings.Join(from.roots(), ", "))
		}
		return readCIFARArchive(ctx, path, "", "cifar10-subset/"+split.String(), split)
	}
	name := "cifar10/" + split.String()
	if path := from.find(official.set, cifarArchive); path != "" {
		return readCIFARArchive(ctx, path, official.sha256, name, split)
	}
	if folder := from.find(official.set, cifarFolder); folder != "" {
		return readCIFARFolder(ctx, folder, cifarFiles()[split], name)
	}
	path, err := from.get(ctx, official)
	if err != nil {
		return nil, err
	}
	return readCIFARArchive(ctx, path, official.sha256, name, split)
}

// readCIFARArchive reads the official archive when sum is set: all files must be there and
// complete. Without a sum it reads a subset's files.
func readCIFARArchive(ctx context.Context, path, sum, name string, split Split) (*Images, error) {
	archive, err := parse(ctx, path, remote{size: cifar10().size, sha256: sum}, format.ReadCIFARArchive)
	if err != nil {
		return nil, err
	}
	var batches []*format.CIFAR
	for _, f := range cifarFiles()[split] {
		if batch := archive.Batches[f.name]; batch != nil {
			batches = append(batches, batch)
		}
	}
	switch {
	case len(archive.Classes) == 0:
		return nil, corrupt(path, "batches.meta.txt is missing")
	case len(batches) == 0:
		return nil, corrupt(path, "it has no %s images", split)
	}
	return joinCIFAR(name, archive.Classes, batches)
}

func readCIFARFolder(ctx context.Context, folder string, files []cifarFile, name string) (*Images, error) {
	var batches []*format.CIFAR
	for _, f := range files {
		of := remote{size: cifarBatch * (1 + format.CIFARPixels), content: f.sha256}
		batch, err := parse(ctx, filepath.Join(folder, f.name), of,
			func(r io.Reader) (*format.CIFAR, error) { return format.ReadCIFAR(r, cifarBatch) })
		if err != nil {
			return nil, err
		}
		batches = append(batches, batch)
	}
	return joinCIFAR(name, cifarClasses(), batches)
}

func cifarClasses() []string {
	return []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}
}

func joinCIFAR(name string, classes []string, batches []*format.CIFAR) (*Images, error) {
	var labels, pixels []byte
	for _, batch := range batches {
		labels = append(labels, batch.Labels...)
		pixels = append(pixels, batch.Pixels...)
	}
	return fromBytes(name, classes, labels, pixels, len(labels), 3, 32, 32)
}
