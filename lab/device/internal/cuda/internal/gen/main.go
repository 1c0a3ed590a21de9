// Command gen compiles the kernels to PTX. Run by go generate in package cuda; needs Debian's package clang-19.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"coupling/lab/device/internal/cuda/kernels"
)

func main() {
	log.SetFlags(0)
	dir := "kernels/ptx"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := generate("kernels", dir); err != nil {
		log.Fatal(err)
	}
}

// generate writes the PTX of the sources in src to dir.
func generate(src, dir string) error {
	for _, m := range kernels.Modules() {
		text, err := compile(src, m)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		z.Write(text)
		z.Close()
		if err := os.WriteFile(filepath.Join(dir, m.Name+".ptx.gz"), packed.Bytes(), 0o644); err != nil {
			return err
		}
	}
	sum, err := kernels.Sum()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "SOURCES"), []byte(sum+"\n"), 0o644)
}

// compile is the PTX of a module without its comments.
func compile(src string, m kernels.Module) ([]byte, error) {
	args := append(append([]string{}, kernels.Flags...), m.Flags...)
	cmd := exec.Command(kernels.Compiler, append(args, m.Source)...)
	cmd.Dir = src
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", kernels.Compiler, m.Name, err, said.Bytes())
	}
	var text bytes.Buffer
	for line := range strings.SplitSeq(out.String(), "\n") {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimRight(line, " \t"); line != "" {
			text.WriteString(line + "\n")
		}
	}
	return text.Bytes(), nil
}
