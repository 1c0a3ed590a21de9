package train

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"coupling/lab/must"
	"coupling/lab/nn/safetensors"
)

// of is a snapshot of a step, all of whose bytes tell which.
func of(step int) *snapshot {
	data := make([]byte, 1<<18)
	for i := range data {
		data[i] = byte(step)
	}
	return &snapshot{Step: int64(step), Arrays: []safetensors.Array{{
		Name:  "a",
		Type:  "I32",
		Shape: []int{len(data) / 4},
		Data:  data,
	}}}
}

// whole demands that a file is what of makes, and returns its step.
func whole(t *testing.T, path string) int {
	t.Helper()
	b := must.Get(os.ReadFile(path))
	s := must.Get(decode(b))
	for _, v := range s.Arrays[0].Data {
		if v != byte(s.Step) {
			t.Fatalf("step %d holds a byte of step %d", s.Step, v)
		}
	}
	return int(s.Step)
}

// alone demands that nothing else lies in the folder of path.
func alone(t *testing.T, path string) {
	t.Helper()
	files := must.Get(os.ReadDir(filepath.Dir(path)))
	if len(files) != 1 || files[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, want the checkpoint alone", files)
	}
}

func save(path string, step int) error { return writeFile(path, of(step)) }

// A file that cannot take its name leaves nothing behind.
func TestNameTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ckpt")
	must.Do(os.Mkdir(path, 0o777))
	if err := save(path, 1); err == nil {
		t.Errorf("error %v over a folder", err)
	}
	alone(t, path)
}

// Saving to one path at once leaves one of the files, whole, and no other.
func TestManySavers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ckpt")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 5 {
				must.Do(save(path, 8*k+i))
			}
		})
	}
	all.Wait()
	whole(t, path)
	alone(t, path)
}

// The link of another to somewhere else is not followed.
func TestLinkInTheWay(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "x.ckpt"), filepath.Join(t.TempDir(), "other")
	must.Do(os.WriteFile(other, []byte("mine"), 0o666))
	if err := os.Symlink(other, filepath.Join(dir, ".x.ckpt.partial")); err != nil {
		t.Skip(err)
	}
	must.Do(save(path, 3))
	if b, err := os.ReadFile(other); err != nil || string(b) != "mine" {
		t.Errorf("the file behind the link is %.20q, %v", b, err)
	}
	whole(t, path)
}
