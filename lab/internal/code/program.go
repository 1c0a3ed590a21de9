package code

import (
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
	"strings"
	"sync"
	"time"

	"coupling/lab/durable"
)

// Program returns the digests of the experiments of this program, from its source. That the source is what the program
// was built of is proven by the build ID that the linker wrote into it: the go command makes the same of the present
// source only if every file, tag and version is the same. The error says why there is no such source.
func Program() (map[string]string, error) {
	info, ok := debug.ReadBuildInfo()
	id := buildID()
	part := strings.Split(id, "/")
	if !ok || len(part) != 4 {
		return nil, errors.New("it has no build ID")
	}
	if strings.HasSuffix(info.Path, ".test") {
		return nil, errors.New("it is a test")
	}
	return cached("program "+id, func() (map[string]string, error) { return fromSource(info, part[1]+"/"+part[2]) })
}

// fromSource looks for the source where the program was built, and where it runs.
func fromSource(info *debug.BuildInfo, want string) (map[string]string, error) {
	var flags, env []string
	for _, s := range info.Settings {
		switch {
		case s.Key == "-ldflags" || s.Key == "-buildmode" || s.Key == "-compiler" || strings.HasPrefix(s.Key, "vcs") || s.Key == "DefaultGODEBUG":
		case s.Key[0] == '-':
			flags = append(flags, s.Key+"="+s.Value)
		default:
			env = append(env, s.Key+"="+s.Value)
		}
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
		t, err := list(dir, flags, env, pattern)
		if err == nil && (len(t.roots) != 1 || t.roots[0].BuildID != want) {
			err = fmt.Errorf("the source in %s is not what it was built of", dir)
		}
		if err == nil {
			return t.experiments()
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
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

// Executable returns a digest of the program itself.
func Executable() string {
	sum := sha256.Sum256([]byte(buildID()))
	return hex.EncodeToString(sum[:8])
}

var idPattern = regexp.MustCompile(`[\w-]{20}/[\w-]{20}/[\w-]{20}/[\w-]{20}`)

// buildID returns the one that the linker wrote near the beginning of the program, whose last part is a digest of the
// whole; without one the digest of the file.
var buildID = sync.OnceValue(func() string {
	path, err := os.Executable()
	if _, running := os.Stat("/proc/self/exe"); running == nil { // also if the file was replaced since
		path = "/proc/self/exe"
	}
	f, openErr := os.Open(path)
	if err = errors.Join(err, openErr); err != nil {
		return "unknown " + err.Error()
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, head)
	if id := idPattern.Find(head[:n]); id != nil {
		return string(id)
	}
	sum, _, err := durable.Digest(path)
	if err != nil {
		return "unknown " + err.Error()
	}
	return sum
})

// scheme is raised when digests are made in another way.
const scheme = "1"

// cached returns what make returned for the key, in this process or an earlier one. What nobody asked for in a month goes.
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
