//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/nb/jupyter"
	"coupling/lab/nb/kernel"
)

// However coupling notebook ends, Jupyter and its kernel end too.
func TestNotebookLeavesNothing(t *testing.T) {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs Jupyter: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	if _, err := jupyter.Find(t.Context()); errors.Is(err, jupyter.ErrAbsent) {
		t.Skip(err)
	}
	c := must.Get(kernel.Find(""))
	if err := c.Install(t.Context()); err != nil {
		t.Skipf("the kernel cannot be built here: %v", err)
	}
	program := filepath.Join(t.TempDir(), "coupling")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, end := range map[string]func(pid int) error{
		// as a terminal: to the group
		"Ctrl-C":              func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) },
		"the terminal closes": func(pid int) error { return syscall.Kill(-pid, syscall.SIGHUP) },
		"SIGTERM":             func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) },
		"SIGKILL":             func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			cmd, address := openedNotebook(t, program)
			id := startKernel(t, address)
			until(t, "no kernel was started", func() bool { return len(running(t, id)) > 0 })
			must.Do(end(cmd.Process.Pid))
			_ = cmd.Wait()
			until(t, "the kernel still runs", func() bool { return len(running(t, id)) == 0 })
			until(t, "Jupyter still runs", func() bool { return len(running(t, "--port="+address.Port())) == 0 })
		})
	}
	t.Run("notebook run, SIGKILL", func(t *testing.T) {
		dir := t.TempDir()
		cmd := exec.Command(program, "notebook", "run", "00-tour")
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		lab.Check(cmd.Start())
		until(t, "no kernel was started", func() bool { return len(running(t, dir)) > 0 })
		lab.Check(cmd.Process.Kill())
		_ = cmd.Wait()
		until(t, "the kernel still runs", func() bool { return len(running(t, dir)) == 0 })
	})
}

// openedNotebook starts the command as a shell does, and waits for the address
// that it prints.
func openedNotebook(t *testing.T, program string, flags ...string) (*exec.Cmd, *url.URL) {
	cmd := exec.Command(program, append([]string{"notebook", "--no-browser"}, flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := must.Get(cmd.StdoutPipe())
	must.Do(cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http://") {
			address := must.Get(url.Parse(line))
			return cmd, address
		}
	}
	t.Fatal("no address was printed")
	return nil, nil
}

// startKernel has Jupyter start a kernel, and returns its id.
func startKernel(t *testing.T, address *url.URL) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address.Host+"/api/kernels",
		strings.NewReader(`{"name": "gonb"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+address.Query().Get("token"))
	resp := must.Get(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return made.ID
}

// running are the processes that have text in their command line.
func running(t *testing.T, text string) (found []string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		line, _ := os.ReadFile(file) // one that has ended meanwhile
		if bytes.Contains(line, []byte(text)) {
			found = append(found, file)
		}
	}
	return found
}

func until(t *testing.T, complaint string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatal(complaint)
		}
	}
}
