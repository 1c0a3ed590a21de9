package code

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"coupling/lab/durable"

	"github.com/go-json-experiment/json"
)

var (
	wd, _      = os.Getwd()      // as go run left it
	program, _ = os.Executable() // this
	once       sync.Once
	functions  Table // of it
	fault      error
)

// Digest returns that of a function of this program, as [Table.Lookup] does. The source is known if
// go run started the program, or if a notebook wrote main.go, built it in the same folder and
// started it, and nothing has changed since. Otherwise the error says why it is not.
func Digest(f runtime.Frame) (digest string, err error) {
	dir, args, began := os.Getenv("GONB_TMP_DIR"), []string{"."}, time.Time{}
	if fi, err := os.Stat(filepath.Join(dir, "main.go")); err == nil && dir == filepath.Dir(program) {
		began = fi.ModTime()
	} else if dir, args, began, err = goRun(os.Getppid()); err != nil {
		return "", err
	}
	info, ok := debug.ReadBuildInfo()
	head := make([]byte, 64<<10) // has the build ID
	file, err := os.Open(program)
	if !ok || err != nil {
		return "", errors.Join(err, errors.New("it cannot be read"))
	}
	defer file.Close()
	_, _ = io.ReadFull(file, head)
	_, tags, _ := strings.Cut(info.String(), "build\t-tags=")
	tags, _, _ = strings.Cut(tags, "\n")
	err = cached(fmt.Sprint(dir, args, f.Function, f.Line), hash(head), &digest, func() error {
		once.Do(func() {
			var t tree
			t, fault = list(dir, append([]string{"-tags=" + tags}, args...)...)
			for _, p := range t {
				if p.changed.After(began) {
					fault = fmt.Errorf("%s has changed since the program was built", p.Dir)
				}
			}
			functions = t.table()
		})
		digest = functions.Lookup(f)
		return fault
	})
	return digest, err
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
	const scheme = "3 " // is raised when digests are made in another way
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
	err = make()
	if b, bad := json.Marshal(out); err == nil && bad == nil {
		_ = durable.Write(file, append([]byte(key+"\n"), b...)) // else it is made again
	}
	return err
}
