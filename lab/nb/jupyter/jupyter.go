// Package jupyter finds and starts the installed Jupyter: Notebook 6 or 7, or JupyterLab. It
// installs nothing, and neither reads nor changes the user's own settings: all of Jupyter's files
// are below [kernel.Checkout.Jupyter].
package jupyter

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"coupling/lab"
	"coupling/lab/internal/child"
	"coupling/lab/nb/kernel"
)

// Remedy is the line that installs Jupyter on Debian and Ubuntu.
const Remedy = "sudo apt-get install -y --no-install-recommends jupyter-notebook"

// ErrAbsent reports that no Jupyter is installed; its text contains the [Remedy].
var ErrAbsent = errors.New("no jupyter-notebook and no jupyter-lab on PATH: " + Remedy)

// An Installation is a Jupyter that can be started.
type Installation struct {
	Program string // its path
	Lab     bool   // JupyterLab, which has other addresses
	Version string
}

// Find looks for Jupyter Notebook, then for JupyterLab.
func Find(ctx context.Context) (Installation, error) {
	for _, name := range []string{"jupyter-notebook", "jupyter-lab"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, program, "--version").Output()
		if err != nil {
			return Installation{}, fmt.Errorf("jupyter: %s --version: %w", program, err)
		}
		return Installation{program, name == "jupyter-lab", strings.TrimSpace(string(out))}, nil
	}
	return Installation{}, fmt.Errorf("jupyter: %w", ErrAbsent)
}

// Page returns the address, below the server's, of a notebook.
func (i Installation) Page(notebook string) string {
	if i.Lab {
		return "/lab/tree/" + filepath.ToSlash(notebook)
	}
	return "/notebooks/" + filepath.ToSlash(notebook)
}

// app is the prefix of the server's settings.
func (i Installation) app() string {
	if !i.Lab && strings.HasPrefix(i.Version, "6.") {
		return "--NotebookApp"
	}
	return "--ServerApp"
}

// Options are the settings of a server.
type Options struct {
	IP       string // to listen on
	Port     int    // 0: a free one
	Notebook string // to open, relative to the checkout
	Browser  bool   // have Jupyter open it in the user's browser
	Env      []string
	Output   io.Writer // of the server; nil is dropped
}

// A Server is a running Jupyter.
type Server struct {
	Base  string // http://127.0.0.1:8888
	Token string
	page  string
	*child.Child
}

// URL returns the address of the notebook with the token.
func (s *Server) URL() string { return s.Base + s.page + "?token=" + s.Token }

// Start starts Jupyter in the checkout, whose kernel must be installed, and waits until it answers.
// Access needs a token, which goes through the environment, where other users cannot see it. The
// server ends with ctx: it gets one signal and ends its kernels. A signal from the terminal does
// not reach it, since a second signal during its shutdown would make it leave its kernels running.
// On Linux it also ends if this process is killed.
func Start(ctx context.Context, c kernel.Checkout, o Options) (s *Server, err error) {
	defer lab.End(&err)
	have := lab.Must(Find(ctx))
	if o.Port == 0 {
		o.Port = freePort(o.IP)
	}
	s = &Server{
		Base: "http://" + net.JoinHostPort(host(o.IP), strconv.Itoa(o.Port)), Token: rand.Text(),
		page: have.Page(o.Notebook),
	}
	// With no retries a port in use is an error, and the server does not move to another port.
	// Working copies are in a hidden folder.
	args := []string{"--ip=" + o.IP, fmt.Sprintf("--port=%d", o.Port), have.app() + ".port_retries=0",
		"--ContentsManager.allow_hidden=True"}
	if !o.Browser {
		args = append(args, "--no-browser")
	}
	if os.Getuid() == 0 {
		args = append(args, "--allow-root")
	}
	if o.Notebook != "" { // as an argument it would become the root of what is served
		args = append(args, have.app()+".default_url="+s.page)
	}
	running, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(running, have.Program, args...)
	cmd.Dir = c.Root
	cmd.Env = append(append(append(os.Environ(), c.Env()...), "JUPYTER_TOKEN="+s.Token), o.Env...)
	if o.Output != nil {
		log := &serverLog{w: o.Output}
		cmd.Stdout, cmd.Stderr = log, log // equal, so that one goroutine writes
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.Child, err = child.Launch(cmd, syscall.SIGTERM, 10*time.Second, cancel); err != nil {
		return nil, fmt.Errorf("jupyter: %w", err)
	}
	if err := s.ready(ctx); err != nil {
		cancel()
		_ = s.Wait() // err has the details
		return nil, err
	}
	return s, nil
}

func (s *Server) ready(ctx context.Context) error {
	client := http.Client{Timeout: 5 * time.Second}
	for range 600 {
		if resp, err := client.Get(s.Base + "/api/status?token=" + s.Token); err == nil {
			_ = resp.Body.Close() // its status says all
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("jupyter: %s is another server's: %s", s.Base, resp.Status)
			}
			return nil
		}
		select {
		case <-s.Ended:
			return fmt.Errorf("jupyter: the server on %s ended at once (is the port taken?): %w", s.Base, s.Wait())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("jupyter: no answer from %s within a minute", s.Base)
}

// host is the address by which this machine reaches a server that listens on ip.
func host(ip string) string {
	switch at := net.ParseIP(ip); {
	case ip == "*", at.Equal(net.IPv4zero):
		return "127.0.0.1"
	case at.Equal(net.IPv6zero):
		return "::1"
	}
	return ip
}

func freePort(ip string) int {
	l, err := net.Listen("tcp", net.JoinHostPort(host(ip), "0"))
	if err != nil {
		lab.Check(fmt.Errorf("jupyter: %w", err))
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// addresses matches the lines in which a server prints addresses. It hides the token in them, so that they open
// nothing: only [Server.URL] does.
var addresses = regexp.MustCompile(`token=|file://|To access the |copy and paste one of|is running at:`)

// serverLog passes the lines of a server's log on, but for those with addresses.
type serverLog struct {
	w    io.Writer
	rest []byte // of a line without its end
}

func (l *serverLog) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if !addresses.Match(line) {
			if _, err := l.w.Write(append(bytes.Clone(line), '\n')); err != nil {
				return 0, err
			}
		}
		l.rest = rest
	}
}
