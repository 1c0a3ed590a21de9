package headless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"coupling/lab/must"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"
)

func TestWire(t *testing.T) {
	w := &wire{key: []byte("k"), session: "s"}
	id, m := must.Get2(w.encode("execute_request",
		map[string]any{"name": "1", "transient": map[string]any{"display_id": "d"}}))
	withIdentity := zmq4.NewMsgFrom(append([][]byte{[]byte("peer")}, m.Frames...)...)
	back, err := w.decode(withIdentity)
	if err != nil || back.id != id || back.kind != "execute_request" || back.content.Name != "1" ||
		back.content.Transient.Display != "d" {
		t.Errorf("%+v, %v", back, err)
	}
	if next, _, _ := w.encode("x", nil); next == id {
		t.Error("two messages have one id")
	}
	for name, bad := range map[string]zmq4.Msg{
		"another key": encoded((&wire{key: []byte("other"), session: "s"}).encode("x", nil)),
		"cut short":   zmq4.NewMsgFrom(m.Frames[:4]...),
		"empty":       {},
	} {
		if _, err := w.decode(bad); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func encoded(_ string, m zmq4.Msg, _ error) zmq4.Msg { return m }

func TestTranscript(t *testing.T) {
	tr := transcript{at: map[string]int{}}
	stream := func(name, text string) message {
		return message{kind: "stream", content: content{Name: name, Text: text}}
	}
	show := func(id, html string) message {
		m := message{kind: "display_data", content: content{Data: map[string]any{"text/html": html}}}
		m.content.Transient.Display = id
		return m
	}
	for _, m := range []message{
		stream("stdout", "a"), stream("stdout", "b\n"), show("x", "1"), show("", "plain"), show("x", "2"),
		stream("stderr", "oh"),
		{kind: "error", content: content{Error: "E", Value: "v", Traceback: []string{"line"}}},
	} {
		tr.add(m)
	}
	if len(tr.outputs) != 5 || tr.outputs[0].Text("text/plain") != "ab\n" || tr.outputs[1].Text("text/html") != "2" ||
		tr.outputs[4].Kind() != "error" {
		t.Errorf("%v", tr.outputs)
	}
	err := tr.failure(message{content: content{Status: "error", Error: "E", Value: "v"}})
	if err == nil || !strings.Contains(err.Error(), "oh") {
		t.Error(err)
	}
	if tr.failure(message{content: content{Status: "ok"}}) != nil {
		t.Error("a good cell fails")
	}
	if !empty(ipynb.Display(map[string]any{"text/html": " "}, nil)) || empty(tr.outputs[0]) || empty(tr.outputs[1]) {
		t.Error("what is empty is kept, or the other way round")
	}
}

func start(t *testing.T) *Session {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs the kernel: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	c := must.Get(kernel.Find(""))
	if err := c.Build(t.Context()); err != nil {
		t.Skipf("the kernel cannot be built here: %v", err)
	}
	s := must.Get(Start(t.Context(), c, Options{Env: []string{"GOPROXY=off"}}))
	t.Cleanup(s.Close)
	return s
}

// How long a kernel takes to start, and a cell that imports the style and draws, the first and the second time.
func TestTimes(t *testing.T) {
	s := start(t)
	must.Get(s.Execute(t.Context(),
		"%noautoget\nimport (\n\"coupling/figures/style\"\n\"coupling/lab/nb\"\n\"gonum.org/v1/gonum/mat\"\n)"))
	for range 3 {
		began := time.Now()
		out := must.Get(
			s.Execute(t.Context(), "%%\nnb.Show(style.Plan(mat.NewDense(2, 2, []float64{.4, .1, .1, .4})))"))
		if len(out) != 1 || out[0].Text("image/png") == "" {
			t.Fatalf("no picture: %v", out)
		}
		t.Logf("import and plot: %.2f s", time.Since(began).Seconds())
	}
}

func TestFailuresAndInterrupts(t *testing.T) {
	s := start(t)
	var failed *CellError
	for code, want := range map[string]string{
		"%noautoget\n%%\nfmt.Println(undefined)": "undefined",
		"%%\nos.Exit(3)":                         "exit status 3",
		"%%\npanic(\"no\")":                      "panic: no",
	} {
		if _, err := s.Execute(t.Context(), code); !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", code, err)
		}
	}
	running := filepath.Join(t.TempDir(), "running") // an interrupt while the cell is compiled would be lost
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(running); err == nil {
				cancel()
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	if _, err := s.Execute(ctx, fmt.Sprintf("%%%%\nos.WriteFile(%q, nil, 0o600)\ntime.Sleep(time.Hour)",
		running)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if out, err := s.Execute(t.Context(), "%%\nfmt.Println(\"still here\")"); err != nil ||
		out[0].Text("text/plain") != "still here\n" {
		t.Error(out, err)
	}
}

// A cell that was edited gives new numbers, and one that was not is recalled.
func TestEditedCellIsComputedAgain(t *testing.T) {
	t.Setenv("COUPLING_STORE", t.TempDir())
	s := start(t)
	execute := func(code string) string {
		out := must.Get(s.Execute(t.Context(), code))
		text := ""
		for _, o := range out {
			text += o.Text("text/plain")
		}
		return strings.TrimSpace(text)
	}
	execute("%noautoget\nimport (\n\t\"context\"\n\t\"fmt\"\n\n\t\"coupling/lab\"\n\t\"coupling/lab/nb\"\n)")
	declare := func(factor string) {
		execute("func scale(x float64) float64 { return " + factor + " * x }\n\n" +
			`var Scaled = lab.Experiment[float64, float64]{
	Name: "test/scaled", Version: 1,
	Run: func(_ context.Context, _ *lab.Cell, x float64) (float64, error) { return scale(x), nil },
}`)
	}
	ask := func() string {
		return execute(
			"%%\nr := nb.Must(lab.Do(nb.Context(), nb.Store(), Scaled, 1, 3.0))\nfmt.Println(r.Value, r.Recalled)")
	}
	declare("2")
	for i, want := range []string{"6 false", "6 true", "15 false", "15 true", "6 true"} {
		switch i {
		case 2:
			declare("5") // of a function that the experiment calls
		case 4:
			declare("2 /* again */")
		}
		if got := ask(); got != want {
			t.Errorf("run %d: %q, want %q", i+1, got, want)
		}
	}
}

// What the cell wrote is told once.
func TestErrorOfACell(t *testing.T) {
	for want, e := range map[string]CellError{
		"cell a-1: error: no\nexit status 1": {"a-1", "ERROR", "exit status 1", "error: no\nexit status 1\n"},
		"cell a-1: ERROR: killed\npanic":     {"a-1", "ERROR", "killed", "panic\n"},
		"cell a-1: ERROR: m.go:3:1: expected declaration, found x\nfix: begin the cell with a line %%; " +
			"statements stand below it": {"a-1", "ERROR", "m.go:3:1: expected declaration, found x", ""},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
