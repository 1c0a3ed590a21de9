// Command generate makes the files of package sample from the official ones: go generate ./data/sample. It reads the
// official files where data.From finds them, and CIFAR-10 from the folder cifar10-subset.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"coupling/data"
	"coupling/data/sample"
	"coupling/data/sample/internal/sheet"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, "."); err != nil {
		log.Fatal(err)
	}
}

// generate writes all samples and the list of their checksums below dir.
func generate(ctx context.Context, dir string) error {
	var sums strings.Builder
	for _, s := range sample.Sets() {
		for split, n := range []int{data.Train: s.Train, data.Test: s.Test} {
			m, err := data.LoadNamed(ctx, data.From{Origin: data.Subset}, s.Name, data.Split(split))
			if err != nil {
				return err
			}
			indices, err := sample.Indices(m.Labels, n)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
			if err := write(&sums, dir, s, s.Name+"/"+data.Split(split).String(), m.Take(indices)); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// write writes the labels and the sheets of one split.
func write(sums io.Writer, dir string, s sample.Set, base string, m *data.Images) error {
	var labels strings.Builder
	for i, l := range m.Labels {
		fmt.Fprint(&labels, l)
		if i%sheet.Columns == sheet.Columns-1 {
			fmt.Fprintln(&labels)
		}
	}
	if err := put(sums, dir, base+"-labels.txt", labels.String()); err != nil {
		return err
	}
	for k := 0; k*s.Sheet < m.Len(); k++ {
		var b strings.Builder
		if err := s.Levels.Encode(&b, m.Slice(k*s.Sheet, min((k+1)*s.Sheet, m.Len()))); err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
		if err := put(sums, dir, fmt.Sprintf("%s-%d.png", base, k), b.String()); err != nil {
			return err
		}
	}
	return nil
}

// put writes one file and its line of SHA256SUMS.
func put(sums io.Writer, dir, path, content string) error {
	full := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	fmt.Fprintf(sums, "%x  %s\n", sha256.Sum256([]byte(content)), path)
	return os.WriteFile(full, []byte(content), 0o644)
}
