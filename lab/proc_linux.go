package lab

import (
	"fmt"
	"os"
	"strings"
)

// procOf describes process pid; Start is empty if there is no such process.
func procOf(pid int) proc {
	var p proc
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.Boot = strings.TrimSpace(string(b))
	}
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// Field 22 is the start time; the second, in parentheses, may hold anything.
		if i := strings.LastIndexByte(string(b), ')'); i >= 0 {
			if f := strings.Fields(string(b[i+1:])); len(f) > 19 && f[0] != "Z" && f[0] != "X" {
				p.Start = f[19]
			}
		}
	}
	return p
}
