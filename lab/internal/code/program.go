package code

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"coupling/lab/durable"

	"github.com/go-json-experiment/json"
)

var (
	wd, _      = os.Getwd()      // as go run left it
	program, _ = os.Executable() // this
)

// Program returns the functions of this program. Its source is known if go run started it, or if a
// notebook wrote main.go, built it in the same folder and started it, and nothing has changed since.
// Otherwise the error says why it is not.
func Program() (out Table, err error) {
	dir, args, began := os.Getenv("GONB_TMP_DIR"), []string{"."}, time.Time{}
	if fi, err := os.Stat(filepath.Join(dir, "main.go")); err == nil && dir == filepath.Dir(program) {
		began = fi.ModTime()
	} else if dir, args, began, err = goRun(os.Getppid()); err != nil {
		return nil, err
	}
	info, ok := debug.ReadBuildInfo()
	head := make([]byte, 64<<10) // has the build ID
	f, err := os.Open(program)
	if !ok || err != nil {
		return nil, errors.Join(err, errors.New("it cannot be read"))
	}
	defer f.Close()
	_, _ = io.ReadFull(f, head)
	_, tags, _ := strings.Cut(info.String(), "build\t-tags=")
	tags, _, _ = strings.Cut(tags, "\n")
	err = cached(fmt.Sprint(dir, args), hash(head), &out, func() error {
		t, err := list(dir, append([]string{"-tags=" + tags}, args...)...)
		for _, p := range t {
			if p.changed.After(began) {
				err = fmt.Errorf("%s has changed since the program was built", p.Dir)
			}
		}
		out = t.table()
		return err
	})
	return out, err
}

// goRun returns where the process, if it is go run without flags, looked for what, and when it
// began. It needs Linux.
func goRun(process int) (dir string, args []string, began time.Time, err error) {
	proc := fmt.Sprintf("/proc/%d/", process)
	line, _ := os.ReadFile(proc + "cmdline")
	stat, _ := os.ReadFile(proc + "stat")
	uptime, _ := os.ReadFile("/proc/uptime")
	words, numbers := strings.Split(string(line), "\x00"), strings.Fields(string(stat))
	if len(words) < 4 || filepath.Base(words[0]) != "go" || words[1] != "run" || len(numbers) < 22 ||
		strings.HasPrefix(words[2], "-") || strings.Contains(words[2], "@") {
		return "", nil, began, errors.New(
			"neither go run without flags nor a notebook started the program, or not on Linux")
	}
	n := 3
	for strings.HasSuffix(words[n-1], ".go") && strings.HasSuffix(words[n], ".go") {
		n++
	}
	var up, ticks float64
	_, err = fmt.Sscan(string(uptime)+numbers[21], &up, new(float64), &ticks)
	const tick = 10 * time.Millisecond // of these clocks, sooner than go run reads a file
	return wd, words[2:n], time.Now().Add(-time.Duration((up-ticks/100)*1e9) + tick), err
}

// Executable returns a digest of this program.
func Executable() string {
	sum, _, err := durable.Digest("/proc/self/exe") // also if another file has taken its place
	if err != nil {
		sum, _, _ = durable.Digest(program)
	}
	return hash([]byte(sum))
}

// cached fills out by make, unless that was done for the same key before, in this process or in
// another; the last key of each name is kept.
func cached(name, key string, out any, make func() error) error {
	const scheme = "2 " // is raised when digests are made in another way
	dir, err := os.UserCacheDir()
	if err != nil {
		return make()
	}
	file := filepath.Join(dir, "coupling", "code", hash([]byte(name)))
	b, _ := os.ReadFile(file)
	is, value, _ := bytes.Cut(b, []byte("\n"))
	key = scheme + hash([]byte(key))
	if string(is) == key && json.Unmarshal(value, out) == nil {
		return nil
	}
	if err := make(); err != nil {
		return err
	}
	if b, err := json.Marshal(out); err == nil {
		_ = durable.Write(file, append([]byte(key+"\n"), b...)) // else it is made again
	}
	return nil
}
