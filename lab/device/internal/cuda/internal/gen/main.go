// Command gen compiles the kernels to PTX and assembles that for sm_90. Run by go generate in
// package cuda; needs Debian's package clang-19 and ptxas (the Makefile says at ptx-check where
// that is).
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
		code, err := assemble(text)
		if err != nil {
			return err
		}
		for kind, content := range map[string][]byte{".ptx.gz": text, ".cubin.gz": code} {
			var packed bytes.Buffer
			z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
			z.Write(content)
			z.Close()
			if err := os.WriteFile(filepath.Join(dir, m.Name+kind), packed.Bytes(), 0o644); err != nil {
				return err
			}
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

// assemble is the machine code of PTX for sm_90.
func assemble(text []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "gen")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, text, 0o644); err != nil {
		return nil, err
	}
	if said, err := kernels.Assemble("sm_90", in, out).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ptxas: %w\n%s", err, said)
	}
	return os.ReadFile(out)
}
