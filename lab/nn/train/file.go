package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"coupling/lab/durable"
)

// writeFile puts a checkpoint at path, whole or not at all. The file that is filled and renamed has the same name for
// every save, so that what a killed process left is written over by the next; only while another process saves to path
// too, or where files cannot be locked, is it a name of its own.
func writeFile(path string, s *snapshot) error {
	dir, name := filepath.Split(path)
	if _, err := os.Stat(filepath.Clean(dir)); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := encode(&b, s); err != nil {
		return err
	}
	partial, err := durable.TryLock(dir + "." + name + ".partial")
	if err != nil {
		return durable.Write(path, b.Bytes())
	}
	err = partial.Become(path, b.Bytes())
	if err != nil {
		err = errors.Join(err, os.Remove(partial.Path()))
	}
	return errors.Join(err, partial.Close())
}
