package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Facts about the machine, from the files of Linux; elsewhere they are unknown.

var errUnknown = errors.New("this system does not say how much memory there is")

// available is the memory that can be had without swapping and all there is, both bounded by the control group's limit.
func available() (free, total int64, err error) {
	if runtime.GOOS != "linux" {
		return 0, 0, errUnknown
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, errors.Join(errUnknown, err)
	}
	free, total = meminfo(string(text), "MemAvailable"), meminfo(string(text), "MemTotal")
	if free < 0 || total < 0 {
		return 0, 0, errUnknown
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	for _, g := range groups("/sys/fs/cgroup", string(own)) {
		limit, used := g.bytes()
		if limit >= 0 && limit < total {
			total = limit
		}
		if limit >= 0 && used >= 0 {
			free = min(free, max(limit-used, 0))
		}
	}
	return min(free, total), total, nil
}

// meminfo is a field of /proc/meminfo in bytes, −1 where it is missing.
func meminfo(text, field string) int64 {
	_, rest, ok := strings.Cut(text, field+":")
	if !ok {
		return -1
	}
	line, _, _ := strings.Cut(rest, "\n")
	kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	if err != nil {
		return -1
	}
	return kb << 10
}

// group is a control group of this process.
type group struct {
	dir                string
	limit, usage, idle string // names of files, and of the field of memory.stat that counts reclaimable pages
}

// groups lists the control groups that may bound memory: of version 2 and 1, as the process's path names them and as
// a container sees them, with the groups around them. own is the text of /proc/self/cgroup.
func groups(root, own string) []group {
	v2 := group{root, "memory.max", "memory.current", "inactive_file"}
	v1 := group{filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	out := []group{v2, v1}
	for line := range strings.Lines(own) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) < 3 || part[1] != "" && part[1] != "memory" {
			continue
		}
		g := v1
		if part[1] == "" {
			g = v2
		}
		for path := filepath.Clean(part[2]); path != "/" && path != "."; path = filepath.Dir(path) {
			inner := g
			inner.dir = filepath.Join(g.dir, path)
			out = append(out, inner)
		}
	}
	return out
}

// bytes is the group's limit and what it uses, reclaimable pages apart; −1 where there is none.
func (g group) bytes() (limit, used int64) {
	limit, used = number(filepath.Join(g.dir, g.limit)), number(filepath.Join(g.dir, g.usage))
	if limit < 0 || used < 0 {
		return limit, used
	}
	text, _ := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == g.idle {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				used = max(used-n, 0)
			}
		}
	}
	return limit, used
}

// number reads a file that holds one, −1 where there is none ("max").
func number(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// modelName is the processor's name by its maker.
func modelName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
