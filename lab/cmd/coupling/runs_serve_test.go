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
