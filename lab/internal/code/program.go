package code

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"coupling/lab/durable"
)

// Program returns the digests of the experiments of this program, from its source. That the source
// is what the program was built of, the go command proves: it compares the build ID, in which the
// linker hashed every package, with what it would build now. The error says why there is no such
// source.
func Program() (map[string]string, error) {
	info, ok := debug.ReadBuildInfo()
	id, err := buildID(executable())
	switch {
	case err != nil:
		return nil, err
	case !ok || strings.Count(id, "/") != 3:
		return nil, errors.New("it has no build ID")
	case strings.HasSuffix(info.Path, ".test"):
		return nil, errors.New("it is a test")
	}
	return cached("program "+id, func() (map[string]string, error) { return fromSource(info, id) })
}

// fromSource looks for the source where the program was built, and where it runs.
func fromSource(info *debug.BuildInfo, id string) (map[string]string, error) {
	var flags, env []string
	stamped := false
	for _, s := range info.Settings {
		switch {
		case strings.HasPrefix(s.Key, "vcs"):
			stamped = true
		case s.Key == "-buildmode" && s.Value == "exe" || s.Key == "-compiler":
			// to ask for the default is another build
		case s.Key[0] == '-':
			flags = append(flags, s.Key+"="+s.Value)
		default:
			env = append(env, s.Key+"="+s.Value)
		}
	}
	if !stamped {
		flags = append(flags, "-buildvcs=false")
	}
	file := mainFile()
	pattern := info.Path
	if pattern == "command-line-arguments" {
		pattern = filepath.Base(file)
	}
	var errs []error
	wd, _ := os.Getwd()
	for _, dir := range []string{os.Getenv("GONB_TMP_DIR"), filepath.Dir(file), wd} {
		if !filepath.IsAbs(dir) {
			continue
		}
		began := time.Now()
		err := isBuiltOf(id, dir, flags, env, pattern)
		if err == nil {
			t, err := list(began, dir, flags, env, pattern)
			if err != nil {
				return nil, err
			}
			return t.experiments()
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// isBuiltOf returns an error unless the present source makes the program with this ID: the go
// command would not link it again, or, if it runs it, keeps the same one. (Asked to run it by echo,
// it prints where.)
func isBuiltOf(id, dir string, flags, env []string, pattern string) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	what := slices.Concat(flags, []string{pattern})
	other := fmt.Errorf("the source in %s is not what it was built of", dir)
	if strings.Contains(path, "go-build") {
		out, _, err := command(dir, env, slices.Concat([]string{"run", "-exec", "echo"}, what)...)
		if err != nil {
			return err
		}
		path = strings.TrimSpace(string(out))
	} else {
		_, plan, err := command(dir, env, slices.Concat([]string{"build", "-n", "-o", path}, what)...)
		if err != nil {
			return err
		}
		if bytes.Contains(plan, []byte("importcfg.link")) {
			return other
		}
	}
	if same, err := buildID(path); err != nil || same != id {
		return errors.Join(other, err)
	}
	return nil
}

var mainCall = regexp.MustCompile(`(?m)^main\.main\(\)\n\t(.*):\d+`)

// mainFile returns the file of the main function, from the stack of the goroutine that runs it.
func mainFile() string {
	buf := make([]byte, 1<<20)
	if m := mainCall.FindSubmatch(buf[:runtime.Stack(buf, true)]); m != nil {
		return string(m[1])
	}
	return ""
}

// executable is the file of this program, also if another has taken its place since.
func executable() string {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe"
	}
	path, _ := os.Executable()
	return path
}

// Executable returns a digest of the program itself.
func Executable() string {
	id, err := buildID(executable())
	if err != nil {
		id = err.Error()
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

var idPattern = regexp.MustCompile(`[\w-]{20}/[\w-]{20}/[\w-]{20}/[\w-]{20}`)

// buildID returns the one that the linker wrote near the beginning of a program, whose last part is
// a digest of the whole; without one the digest of the file.
func buildID(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, head)
	if id := idPattern.Find(head[:n]); id != nil {
		return string(id), nil
	}
	sum, _, err := durable.Digest(path)
	return sum, err
}

// scheme is raised when digests are made in another way.
const scheme = "1"

// cached returns what make returned for the key, in this process or an earlier one. What nobody
// asked for in a month goes.
func cached[T any](key string, make func() (T, error)) (T, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return make()
	}
	dir = filepath.Join(dir, "coupling", "code")
	sum := sha256.Sum256([]byte(scheme + " " + key))
	file := filepath.Join(dir, hex.EncodeToString(sum[:16]))
	var out T
	if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &out) == nil {
		return out, nil
	}
	out, err = make()
	if b, encoding := json.Marshal(out); err == nil && encoding == nil && durable.Write(file, b) == nil {
		sweep(dir)
	}
	return out, err
}

// sweep removes files that are older than a month.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > 30*24*time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
