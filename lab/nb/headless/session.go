// Package headless executes notebooks without a browser and without Python: it
// starts the GoNB kernel and speaks Jupyter's protocol to it over ZeroMQ.
package headless

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-zeromq/zmq4"

	"coupling/lab/nb/kernel"
)

// A Session is a running kernel. One goroutine at a time may execute;
// Interrupt and Close may be called from another.
type Session struct {
	wire           *wire
	shell, control zmq4.Socket
	iopub          zmq4.Socket
	published      chan message
	replies        chan message
	child          *kernel.Child
	cmd            *exec.Cmd
	dir            string // temporary
	cancel         context.CancelCauseFunc
}

// Options say how the kernel is run.
type Options struct {
	Dir string   // working directory; "" is notebooks/ of the checkout
	Env []string // beside the process's own
}

// ports names the sockets of a kernel in its connection file; see jupyter_client.
var ports = []string{"shell_port", "control_port", "iopub_port", "stdin_port", "hb_port"}

// newConnection asks the system for free ports.
func newConnection(key string) (map[string]any, error) {
	c := map[string]any{"transport": "tcp", "ip": "127.0.0.1", "key": key, "signature_scheme": "hmac-sha256",
		"kernel_name": kernel.Name}
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return c, err
		}
		defer func() { _ = l.Close() }() // all are taken before any is given back
		c[port] = l.Addr().(*net.TCPAddr).Port
	}
	return c, nil
}

// Start starts the kernel of the checkout and waits until it answers. The kernel
// ends with ctx.
func Start(ctx context.Context, c kernel.Checkout, o Options) (*Session, error) {
	key := rand.Text()
	conn, err := newConnection(key)
	if err != nil {
		return nil, fmt.Errorf("headless: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Session{
		wire:      &wire{key: []byte(key), session: rand.Text()},
		published: make(chan message, 4096), replies: make(chan message, 64),
		cancel: cancel,
	}
	if s.dir, err = os.MkdirTemp("", "coupling-nb-"); err != nil {
		cancel(nil)
		return nil, fmt.Errorf("headless: %w", err)
	}
	if err = s.launch(ctx, c, o, conn); err == nil {
		err = s.connect(ctx, conn)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("headless: the kernel does not answer: %w\n%s", err, s.log())
	}
	return s, nil
}

func (s *Session) launch(ctx context.Context, c kernel.Checkout, o Options, conn map[string]any) error {
	b, err := json.Marshal(conn)
	if err != nil {
		return err
	}
	// GoNB takes a name unlike Jupyter's kernel-ID.json as a sign that there is no browser.
	file := filepath.Join(s.dir, "connection.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return err
	}
	output, err := os.Create(filepath.Join(s.dir, "kernel.log"))
	if err != nil {
		return err
	}
	defer output.Close()
	args := append([]string{"--kernel", file}, c.Arguments()...)
	s.cmd = exec.CommandContext(ctx, c.GoNB(), args...)
	s.cmd.Dir = o.Dir
	if s.cmd.Dir == "" {
		s.cmd.Dir = filepath.Join(c.Root, "notebooks")
	}
	s.cmd.Env = append(append(os.Environ(), c.Env()...), append([]string{"TMPDIR=" + s.dir}, o.Env...)...)
	s.cmd.Stdout, s.cmd.Stderr = output, output
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) } // an interrupt would only end the cell
	s.cmd.WaitDelay = 8 * time.Second
	s.child, err = kernel.Launch(s.cmd, func() { s.cancel(errEnded) })
	if err != nil {
		s.cmd = nil
	}
	return err
}

func (s *Session) log() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "kernel.log"))
	return string(b)
}

var errEnded = errors.New("it ended")

// connect dials the kernel, which needs a moment, on a busy machine a minute, and retries until the
// channel of publications answers or the kernel ends; messages published before that are lost.
func (s *Session) connect(ctx context.Context, conn map[string]any) error {
	retry := []zmq4.Option{
		zmq4.WithID(zmq4.SocketIdentity(s.wire.session)), zmq4.WithLogger(log.New(io.Discard, "", 0)),
		zmq4.WithDialerRetry(20 * time.Millisecond), zmq4.WithDialerMaxRetries(15_000),
	}
	s.shell, s.control, s.iopub = zmq4.NewDealer(ctx, retry...), zmq4.NewDealer(ctx, retry...),
		zmq4.NewSub(ctx, retry[1:]...)
	for i, socket := range []zmq4.Socket{s.shell, s.control, s.iopub} {
		if err := socket.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", conn[ports[i]])); err != nil {
			return err
		}
	}
	if err := s.iopub.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		return err
	}
	go s.pump(s.iopub, s.published)
	go s.pump(s.shell, s.replies)
	go s.pump(s.control, nil)
	for {
		if _, err := s.send(s.shell, "kernel_info_request", map[string]any{}); err != nil {
			return err
		}
		select {
		case <-s.published:
			return nil
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Session) send(socket zmq4.Socket, kind string, content any) (id string, err error) {
	id, m, err := s.wire.encode(kind, content)
	if err != nil {
		return "", err
	}
	return id, socket.Send(m)
}

// pump reads a socket until it is closed.
func (s *Session) pump(socket zmq4.Socket, out chan<- message) {
	for {
		raw, err := socket.Recv()
		if err != nil {
			return
		}
		if m, err := s.wire.decode(raw); err == nil && out != nil {
			out <- m
		}
	}
}

// Interrupt stops the cell that runs, as Jupyter's button does.
func (s *Session) Interrupt() error {
	if _, err := s.send(s.control, "interrupt_request", map[string]any{}); err != nil {
		return fmt.Errorf("headless: interrupt: %w", err)
	}
	return nil
}

// Close ends the kernel at once and removes its files.
func (s *Session) Close() {
	s.cancel(nil)
	if s.cmd != nil {
		select {
		case <-s.child.Ended:
		case <-time.After(10 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.child.Ended
		}
	}
	for _, socket := range []zmq4.Socket{s.shell, s.control, s.iopub} {
		if socket != nil {
			_ = socket.Close()
		}
	}
	_ = os.RemoveAll(s.dir)
}
