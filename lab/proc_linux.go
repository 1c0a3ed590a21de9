package lab

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// procOf describes process pid as far as this process may see it.
func procOf(pid int) proc {
	var p proc
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.Boot = strings.TrimSpace(string(b))
	}
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// Field 22 is the start time; the second, in parentheses, may hold anything.
		if i := strings.LastIndexByte(string(b), ')'); i >= 0 {
			if f := strings.Fields(string(b[i+1:])); len(f) > 19 {
				p.Start = f[19]
			}
		}
	}
	return p
}

// ended reports whether process pid, which began at start, is certainly gone.
// That /proc hides it is no proof, and a zombie may have threads that still run.
func ended(pid int, start string) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	now := procOf(pid).Start
	return now != "" && now != start
}
