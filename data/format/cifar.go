package format

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"
)

const (
	// CIFARPixels is the number of bytes of a CIFAR-10 image: 3 channels (red,
	// green, blue) of 32 rows of 32.
	CIFARPixels = 3 * 32 * 32

	cifarRecord = 1 + CIFARPixels
	cifarBatch  = 10_000 // records in each official file
)

// CIFAR holds records of CIFAR-10.
type CIFAR struct {
	Labels []uint8 // 0 to 9
	Pixels []byte  // len(Labels)×3×32×32
}

// ReadCIFAR reads one CIFAR-10 binary batch: records of a label byte and 3072
// pixels, at least one and at most limit.
func ReadCIFAR(r io.Reader, limit int) (*CIFAR, error) {
	batch := &CIFAR{}
	var record [cifarRecord]byte
	for {
		n, err := io.ReadFull(r, record[:])
		switch {
		case err == io.EOF && len(batch.Labels) > 0:
			return batch, nil
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, badf("CIFAR-10: truncated: %d bytes of record %d, want %d", n, len(batch.Labels), cifarRecord)
		case err != nil:
			return nil, err
		case len(batch.Labels) == limit:
			return nil, badf("CIFAR-10: more than %d records", limit)
		case record[0] > 9:
			return nil, badf("CIFAR-10: record %d: label %d: want 0 to 9", len(batch.Labels), record[0])
		}
		batch.Labels = append(batch.Labels, record[0])
		batch.Pixels = append(batch.Pixels, record[1:]...)
	}
}

// CIFARArchive is the content of the tar file of CIFAR-10's binary version.
type CIFARArchive struct {
	Batches map[string]*CIFAR // by file name: data_batch_1.bin to data_batch_5.bin and test_batch.bin
	Classes []string          // batches.meta.txt
}

// ReadCIFARArchive reads an unpacked tar file with the layout of
// cifar-10-binary.tar.gz: the batches and batches.meta.txt in the folder
// cifar-10-batches-bin; other files are skipped. Each batch may hold at most
// 10,000 records. An archive without batches is refused, as is anything but
// zeros after the archive's end.
func ReadCIFARArchive(r io.Reader) (*CIFARArchive, error) {
	archive := &CIFARArchive{Batches: map[string]*CIFAR{}}
	files := tar.NewReader(r)
	for {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, tarError(err)
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		if header.Typeflag != tar.TypeReg {
			return nil, badf("CIFAR-10: %s in the tar file is not a plain file", clip(header.Name))
		}
		if err := archive.add(files, header.Name); err != nil {
			return nil, err
		}
	}
	if len(archive.Batches) == 0 {
		return nil, badf("CIFAR-10: no batches in the tar file")
	}
	if err := onlyZeros(r); err != nil {
		return nil, err
	}
	return archive, nil
}

func (a *CIFARArchive) add(r io.Reader, name string) error {
	folder, base := path.Split(path.Clean(name))
	switch {
	case folder == "cifar-10-batches-bin/" && base == "batches.meta.txt":
		return a.readClasses(r)
	case folder != "cifar-10-batches-bin/" || path.Ext(base) != ".bin":
		return nil // the tar reader skips what was not read
	case a.Batches[base] != nil:
		return badf("CIFAR-10: %s is in the tar file twice", base)
	}
	batch, err := ReadCIFAR(r, cifarBatch)
	a.Batches[base] = batch
	return tarError(err)
}

func (a *CIFARArchive) readClasses(r io.Reader) error {
	if a.Classes != nil {
		return badf("CIFAR-10: batches.meta.txt is in the tar file twice")
	}
	text, err := io.ReadAll(io.LimitReader(r, 1024))
	if err != nil {
		return tarError(err)
	}
	a.Classes = strings.Fields(string(text))
	if len(a.Classes) != 10 {
		return badf("CIFAR-10: batches.meta.txt names %d classes, want 10", len(a.Classes))
	}
	return nil
}

func tarError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badf("tar: truncated")
	case errors.Is(err, tar.ErrHeader):
		return badf("tar: damaged: %w", err)
	}
	return err
}

// onlyZeros reads to the end and refuses anything but the zeros that pad a tar file.
func onlyZeros(r io.Reader) error {
	var buf [4096]byte
	for {
		n, err := r.Read(buf[:])
		for _, b := range buf[:n] {
			if b != 0 {
				return badf("tar: trailing bytes after the end of the archive")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
