// Package headless executes notebooks without a browser and without Python: it
// starts the GoNB kernel and speaks Jupyter's protocol to it over ZeroMQ.
package headless

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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

	"coupling/lab"
	"coupling/lab/internal/child"
	"coupling/lab/nb/kernel"

	"github.com/go-zeromq/zmq4"
)

// A Session is a running kernel. One goroutine at a time may execute;
// Interrupt and Close may be called from another.
type Session struct {
	wire           *wire
	shell, control zmq4.Socket
	iopub          zmq4.Socket
	published      chan message
	replies        chan message
	child          *child.Child
	dir            string // temporary
	cancel         context.CancelCauseFunc
}

// Options are the settings of a kernel.
type Options struct {
	Dir string   // working directory; "" is notebooks/ of the checkout
	Env []string // beside the process's own
}

// ports names the sockets of a kernel in its connection file; see jupyter_client.
var ports = []string{"shell_port", "control_port", "iopub_port", "stdin_port", "hb_port"}

// connection asks the system for free ports.
func (s *Session) connection() map[string]any {
	c := map[string]any{"transport": "tcp", "ip": "127.0.0.1", "key": string(s.wire.key),
		"signature_scheme": "hmac-sha256", "kernel_name": kernel.Name}
	for _, port := range ports {
		l := lab.Must(net.Listen("tcp", "127.0.0.1:0"))
		defer func() { _ = l.Close() }() // all are taken before any is given back
		c[port] = l.Addr().(*net.TCPAddr).Port
	}
	return c
}

// Start starts the kernel of the checkout and waits until it answers. The kernel ends with ctx.
func Start(ctx context.Context, c kernel.Checkout, o Options) (*Session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Session{
		wire:      &wire{key: []byte(rand.Text()), session: rand.Text()},
		published: make(chan message, 4096), replies: make(chan message, 64),
		cancel: cancel,
	}
	if err := s.start(ctx, c, o); err != nil {
		err = fmt.Errorf("headless: the kernel does not answer: %w\n%s", err, s.log())
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) start(ctx context.Context, c kernel.Checkout, o Options) (err error) {
	defer lab.End(&err)
	s.dir = lab.Must(os.MkdirTemp("", "coupling-nb-"))
	conn := s.connection()
	// GoNB takes a name unlike Jupyter's kernel-ID.json as a sign that there is no browser.
	file := filepath.Join(s.dir, "connection.json")
	lab.Check(os.WriteFile(file, lab.Must(json.Marshal(conn)), 0o600))
	output := lab.Must(os.Create(filepath.Join(s.dir, "kernel.log")))
	defer output.Close()
	cmd := exec.CommandContext(ctx, c.GoNB(), append([]string{"--kernel", file}, c.Arguments()...)...)
	cmd.Dir = cmp.Or(o.Dir, c.Path("notebooks"))
	cmd.Env = append(append(os.Environ(), c.Env()...), append([]string{"TMPDIR=" + s.dir}, o.Env...)...)
	cmd.Stdout, cmd.Stderr = output, output
	// Not an interrupt, which would only end the cell.
	s.child = lab.Must(child.Launch(cmd, syscall.SIGTERM, 8*time.Second, func() { s.cancel(errEnded) }))
	s.connect(ctx, conn)
	return nil
}

func (s *Session) log() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "kernel.log"))
	return string(b)
}

var errEnded = errors.New("it ended")

// connect dials the kernel, which needs a moment, on a busy machine a minute, and retries until the
// channel of publications answers or the kernel ends; messages published before that are lost.
func (s *Session) connect(ctx context.Context, conn map[string]any) {
	retry := []zmq4.Option{
		zmq4.WithID(zmq4.SocketIdentity(s.wire.session)), zmq4.WithLogger(log.New(io.Discard, "", 0)),
		zmq4.WithDialerRetry(20 * time.Millisecond), zmq4.WithDialerMaxRetries(15_000),
	}
	s.shell, s.control, s.iopub = zmq4.NewDealer(ctx, retry...), zmq4.NewDealer(ctx, retry...),
		zmq4.NewSub(ctx, retry[1:]...)
	for i, socket := range s.sockets() {
		lab.Check(socket.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", conn[ports[i]])))
	}
	lab.Check(s.iopub.SetOption(zmq4.OptionSubscribe, ""))
	go s.pump(s.iopub, s.published)
	go s.pump(s.shell, s.replies)
	go s.pump(s.control, nil)
	for {
		lab.Must(s.send(s.shell, "kernel_info_request", map[string]any{}))
		select {
		case <-s.published:
			return
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			lab.Check(context.Cause(ctx))
		}
	}
}

func (s *Session) sockets() []zmq4.Socket { return []zmq4.Socket{s.shell, s.control, s.iopub} }

func (s *Session) send(socket zmq4.Socket, kind string, content any) (id string, err error) {
	id, m, err := s.wire.encode(kind, content)
	if err != nil {
		return "", err
	}
	return id, socket.Send(m)
}

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

// Close ends the kernel and removes its files.
func (s *Session) Close() {
	s.cancel(nil)
	if s.child != nil {
		<-s.child.Ended // it is killed if it does not heed the signal
	}
	for _, socket := range s.sockets() {
		if socket != nil {
			_ = socket.Close()
		}
	}
	_ = os.RemoveAll(s.dir)
}

// message holds the fields of a Jupyter message, protocol 5.3, that are used here.
type message struct {
	kind, id, parent string
	content          content
}

type content struct {
	Name, Text     string // of a stream
	Data, Metadata map[string]any
	Transient      struct {
		Display string `json:"display_id"`
	}
	State     string `json:"execution_state"`
	Status    string
	Error     string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

var delimiter = []byte("<IDS|MSG>")

// wire writes and reads signed messages of one session.
type wire struct {
	key     []byte
	session string
}

func (w *wire) sign(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, w.key)
	for _, p := range parts {
		h.Write(p)
	}
	return []byte(hex.EncodeToString(h.Sum(nil)))
}

func (w *wire) encode(kind string, content any) (id string, m zmq4.Msg, err error) {
	defer lab.End(&err)
	id = rand.Text()
	header := lab.Must(json.Marshal(map[string]any{
		"msg_id": id, "msg_type": kind, "session": w.session, "username": "coupling",
		"date": time.Now().UTC().Format(time.RFC3339Nano), "version": "5.3",
	}))
	body, empty := lab.Must(json.Marshal(content)), []byte("{}")
	return id, zmq4.NewMsgFrom(delimiter, w.sign(header, empty, empty, body), header, empty, empty, body), nil
}

var errForeign = errors.New("not a signed message of this session's kernel")

func (w *wire) decode(m zmq4.Msg) (message, error) {
	frames := m.Frames
	for len(frames) > 0 && string(frames[0]) != string(delimiter) {
		frames = frames[1:]
	}
	if len(frames) < 6 || !hmac.Equal(frames[1], w.sign(frames[2:6]...)) {
		return message{}, errForeign
	}
	var header, parent struct {
		ID   string `json:"msg_id"`
		Kind string `json:"msg_type"`
	}
	out := message{}
	err := errors.Join(json.Unmarshal(frames[2], &header), json.Unmarshal(frames[3], &parent),
		json.Unmarshal(frames[5], &out.content))
	out.kind, out.id, out.parent = header.Kind, header.ID, parent.ID
	return out, err
}
