//go:build linux

package train

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"coupling/lab/must"
)

// This test binary, told so, is a process that saves for ever or on a full disk.
func TestMain(m *testing.M) {
	switch path := os.Getenv("TRAIN_TEST_PATH"); os.Getenv("TRAIN_TEST_CHILD") {
	case "saves":
		saves(path)
	case "full":
		full(path)
	default:
		os.Exit(m.Run())
	}
}

// saves saves one step after the other, and says so.
func saves(path string) {
	for k := 1; ; k++ {
		if err := save(path, k); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(k)
	}
}

// full saves where a file may have half the bytes that it needs, which to a writer is a disk that is full.
func full(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 17, Max: 1 << 17})
	if err == nil {
		err = save(path, 2)
	}
	if !errors.Is(err, syscall.EFBIG) {
		fmt.Println("error", err, "want EFBIG")
		os.Exit(1)
	}
}

func child(kind, path string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "TRAIN_TEST_CHILD="+kind, "TRAIN_TEST_PATH="+path)
	c.Stderr = os.Stderr
	return c
}

// A disk that fills up is an error, the old file stays, and the new one's beginning goes.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ckpt")
	must.Do(save(path, 1))
	if out, err := child("full", path).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := whole(t, path); got != 1 {
		t.Errorf("step %d, want 1", got)
	}
	alone(t, path)
}

// Killed whenever, a process leaves the last file that it was told was saved, or the next, and one other at most, which
// the next save takes.
func TestKilledWhileSaving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ckpt")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		said := killed(t, path, time.Duration(rng.IntN(6000))*time.Microsecond)
		if got := whole(t, path); got != said && got != said+1 {
			t.Errorf("step %d after the process said that it had saved %d", got, said)
		}
		if files, _ := os.ReadDir(filepath.Dir(path)); len(files) > 2 {
			t.Errorf("%d files are left", len(files))
		}
	}
	must.Do(save(path, 7))
	whole(t, path)
	alone(t, path)
}

// killed lets a process save until some time after its second file, and returns the last step that it spoke of.
func killed(t *testing.T, path string, after time.Duration) (said int) {
	c := child("saves", path)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = must.Get(strconv.Atoi(lines.Text()))
		if said == 2 {
			time.Sleep(after)
			must.Do(c.Process.Kill())
		}
	}
	_ = c.Wait() // killed
	if said < 2 {
		t.Fatalf("the process stopped after %d files", said)
	}
	return said
}

// The mode is that of any file that is made, so that others may read what the umask lets them read.
func TestMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ckpt")
	for _, umask := range []int{0o077, 0o022, 0o027} {
		before := syscall.Umask(umask)
		err := save(path, 1)
		syscall.Umask(before)
		if err != nil {
			t.Fatal(err)
		}
		at := must.Get(os.Stat(path))
		if got, want := at.Mode().Perm(), os.FileMode(0o666&^umask); got != want {
			t.Errorf("mode %v at umask %03o, want %v", got, umask, want)
		}
	}
}
