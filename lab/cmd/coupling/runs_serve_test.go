package main

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"coupling/lab/must"
	"coupling/lab/store"
)

// serve prints an address that opens, and ends well on Ctrl-C.
func TestRunsServe(t *testing.T) {
	store := t.TempDir()
	exe := must.Get(os.Executable())
	cmd := exec.Command(exe, "--store", store, "runs", "serve")
	cmd.Args[0] = "coupling" // by this name the test binary is the command
	out := must.Get(cmd.StdoutPipe())
	must.Do(cmd.Start())
	late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	address := must.Get(bufio.NewReader(out).ReadString('\n'))
	jar, _ := cookiejar.New(nil)
	resp := must.Get((&http.Client{Jar: jar}).Get(strings.TrimSpace(address)))
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", address, resp.Status)
	}
	must.Do(cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

// In a module, what computed last is not taken for its code: that was edited since, or is another's.
func TestCurrentCodes(t *testing.T) {
	r := store.Record{Experiment: "my/mean", Code: "before"}
	for name, c := range map[string]struct {
		own  map[string]bool
		want bool
	}{"edited": {map[string]bool{"after": true}, false}, "of no known code": {map[string]bool{}, false},
		"present": {map[string]bool{"before": true}, true}, "outside a module": {nil, true}} {
		codes := codes{own: c.own, last: map[string]store.Record{}}
		if codes.add(r); codes.isCurrent(r) != c.want {
			t.Errorf("%s: current: %v", name, !c.want)
		}
	}
}
