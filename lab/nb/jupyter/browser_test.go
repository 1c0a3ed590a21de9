package jupyter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"coupling/lab/must"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/kernel"
)

// The notebook of these tests imports little, so that its cells build quickly.
const testNotebook = `# Browser

` + "```go" + `
%noautoget
import (
    "image"
    "image/color"

    "coupling/lab"
    "coupling/lab/nb"
)

type square struct{ Side int }

var Slow = lab.Experiment[square, int]{Name: "test/slow", Version: 1, Run: slowly}

func slowly(ctx context.Context, c *lab.Cell, p square) (int, error) {
    for i := range 20 {
        select {
        case <-ctx.Done():
            return 0, ctx.Err()
        case <-time.After(50 * time.Millisecond):
            c.Progress(i, 20)
        }
    }
    return p.Side * p.Side, nil
}

func grey(v float64) image.Image {
    m := image.NewGray(image.Rect(0, 0, 200, 100))
    for i := range m.Pix {
        m.Pix[i] = uint8(v)
    }
    return m
}
` + "```\n```go" + `
%%
nb.Slider("level", nb.Steps(0, 250, 51), func(v float64) any { return grey(v) })
fmt.Println("after the slider")
` + "```\n```go" + `
%%
nb.Film("level", []int{0, 100, 200}, func(v int) any { return grey(float64(v)) })
` + "```\n```go" + `
%%
n := 0
var squares []square
for side := range 20 {
    squares = append(squares, square{side + 1})
}
for range nb.Sweep(Slow, uint64(time.Now().UnixNano()), squares) {
    n++
}
fmt.Println("landed", n, nb.Context().Err())
` + "```\n```go" + `
statement := 3
` + "```\n"

// browser is a page of Notebook 6 in headless Chromium.
type browser struct {
	*testing.T
	ctx    context.Context
	server *Server
	path   string // of the notebook, relative to the checkout
}

func openBrowser(t *testing.T, source string) *browser {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs a minute: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	have, err := Find(t.Context())
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(have.Version, "6.") {
		t.Skipf("%s %s: this test knows the pages of Notebook 6", have.Program, have.Version)
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on PATH: sudo apt-get install -y --no-install-recommends chromium")
	}
	c := must.Get(kernel.Find(""))
	if err := c.Install(t.Context()); err != nil {
		t.Skipf("the kernel cannot be built here: %v", err)
	}
	b := &browser{T: t, path: place(t, c, source)}
	log := &strings.Builder{}
	b.server, err = Start(t.Context(), c, Options{IP: "127.0.0.1", Notebook: b.path, Output: log,
		Env: []string{"COUPLING_STORE=" + t.TempDir(), "COUPLING_PRESET=" + preset(), "GOPROXY=off"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1180, 1180),
		chromedp.Flag("force-device-scale-factor", "1"))...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b.ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(cancel)
	b.do(chromedp.Navigate(b.server.URL()))
	b.ready()
	return b
}

func preset() string {
	if p := os.Getenv("COUPLING_PRESET"); p != "" {
		return p
	}
	return "smoke"
}

// place writes the notebook into the checkout, where Jupyter serves it.
func place(t *testing.T, c kernel.Checkout, source string) string {
	nb := must.Get(ipynb.FromMarkdown(source))
	b := must.Get(nb.Encode())
	// Within the checkout, and not hidden, or Jupyter does not serve it.
	dir := filepath.Join(c.Root, "notebooks", "browser-"+strings.ToLower(rand.Text()))
	must.Do(os.Mkdir(dir, 0o777))
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(os.WriteFile(filepath.Join(dir, "test.ipynb"), b, 0o666))
	return filepath.Join("notebooks", filepath.Base(dir), "test.ipynb")
}

func (b *browser) do(actions ...chromedp.Action) {
	b.Helper()
	must.Do(chromedp.Run(b.ctx, actions...))
}

// js runs a statement in the page.
func (b *browser) js(format string, args ...any) {
	b.Helper()
	b.do(chromedp.Evaluate("(() => {"+fmt.Sprintf(format, args...)+"})()", nil))
}

// text evaluates an expression that is a string.
func (b *browser) text(expression string) (s string) {
	b.Helper()
	b.do(chromedp.Evaluate("String("+expression+")", &s))
	return s
}

// until waits for an expression to be true.
func (b *browser) until(expression string) time.Duration {
	b.Helper()
	began := time.Now()
	for time.Since(began) < 60*time.Second {
		var ok bool
		if err := chromedp.Run(b.ctx, chromedp.Evaluate("!!("+expression+")", &ok)); err != nil {
			b.Fatalf("%s: %v", expression, err)
		}
		if ok {
			return time.Since(began)
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.shot("failed")
	b.Fatalf("not within a minute: %s\noutputs: %s", expression,
		b.text(
			`JSON.stringify(Jupyter.notebook.get_cells().map(c => c.output_area &&
				c.output_area.outputs.map(o => o.text || o.evalue || Object.keys(o.data || o))))`))
	return 0
}

func (b *browser) ready() {
	b.until(
		`window.Jupyter && Jupyter.notebook && Jupyter.notebook.kernel &&
			Jupyter.notebook.kernel.is_connected() && Jupyter.notebook.get_cells().length > 1`)
}

func (b *browser) run(cells ...int) {
	list, _ := json.Marshal(cells)
	b.js(`Jupyter.notebook.execute_cells(%s)`, list)
}

// ran waits until nothing runs in any cell.
func (b *browser) ran() {
	b.Helper()
	b.until(`Jupyter.notebook.get_cells().every(c => !c.element.hasClass("running")) && !Jupyter.notebook.kernel_busy`)
}

// idle waits until the server says that no kernel is busy: a page that was loaded
// afresh does not know.
func (b *browser) idle() time.Duration {
	b.Helper()
	began := time.Now()
	for time.Since(began) < 60*time.Second {
		resp := must.Get(b.server.get(b.ctx, "/api/kernels"))
		list, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(string(list), `"idle"`) && !strings.Contains(string(list), `"busy"`) {
			return time.Since(began)
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("the kernel is busy for ever")
	return 0
}

// move sets the slider as a hand does, and returns how long it took until the
// picture was another.
func (b *browser) move(to int) time.Duration {
	b.Helper()
	b.js(`window.before = document.querySelector(".nb-live img").src;
		const s = document.querySelector(".nb-live input[type=range]");
		s.value = %d;
		s.dispatchEvent(new Event("input"));`, to)
	return b.until(`document.querySelector(".nb-live img").src !== window.before`)
}

func (b *browser) stop() {
	b.js(`document.querySelector(".nb-live .nb-stop").click()`)
	b.until(`!document.querySelector(".nb-live")`)
}

func (b *browser) errors() {
	b.Helper()
	if n := b.text(
		`JSON.stringify(Jupyter.notebook.get_cells().flatMap(
			c => c.output_area ? c.output_area.outputs.filter(o => o.output_type === "error") : []))`); n != "[]" {
		b.Errorf("errors in the notebook: %s", n)
	}
}

// shot leaves a picture of the page in $COUPLING_SCREENSHOTS.
func (b *browser) shot(name string) {
	dir := os.Getenv("COUPLING_SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	if err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot(&png)); err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666)
		b.Logf("%s.png: %v", name, err)
	}
}

func TestInABrowser(t *testing.T) {
	b := openBrowser(t, testNotebook)
	b.run(1, 2)
	b.until(`document.querySelector(".nb-live img")`)
	b.Logf("the picture changed %v after the slider moved", b.move(40))
	b.Logf("and back in %v", b.move(25))
	if got := b.text(`document.querySelector(".nb-live").dataset.drawn`); got != "level = 125" {
		t.Errorf("drawn at %q", got)
	}
	b.stop()
	b.ran()
	if out := b.text(`Jupyter.notebook.get_cell(2).element.text()`); !strings.Contains(out, "level = 125 (stopped)") ||
		!strings.Contains(out, "after the slider") {
		t.Errorf("after Stop: %q", out)
	}
	b.errors()

	b.run(5)
	b.ran()
	b.until(`Jupyter.notebook.get_cell(5).element.text().includes("Line 1")`)
	if out := b.text(`Jupyter.notebook.get_cell(5).element.text()`); !strings.Contains(out, "Line 1") ||
		!strings.Contains(out, "begin the cell with a line %%") {
		t.Errorf("statements without %%%%: %q", out)
	}

	// The film needs no kernel; export keeps it and the slider's last picture.
	b.run(3)
	b.ran()
	b.until(`document.querySelector(".nb-film")`)
	b.js(`const f = document.querySelector(".nb-film input"); f.value = 2; f.dispatchEvent(new Event("input"))`)
	if got := b.text(`[...document.querySelectorAll(".nb-frame")].map(f => f.style.display)`); got !=
		"none,none,block" {
		t.Errorf("film: %s", got)
	}
	b.js(`window.saved = false; Jupyter.notebook.save_notebook().then(() => { window.saved = true })`)
	b.until(`window.saved`)
	html := must.Get(b.server.export(t.Context(), b.path))
	for _, want := range []string{"nb-film", `type="range"`, "after the slider", "data:image/png;base64,"} {
		if !strings.Contains(html, want) {
			t.Errorf("exported HTML has no %q", want)
		}
	}
	file := filepath.Join(t.TempDir(), "exported.html")
	must.Do(os.WriteFile(file, []byte(html), 0o666))
	b.do(chromedp.Navigate("file://" + file))
	b.js(`const f = document.querySelector(".nb-film input"); f.value = 1; f.dispatchEvent(new Event("input"))`)
	if got := b.text(`[...document.querySelectorAll(".nb-frame")].map(f => f.style.display)`); got !=
		"none,block,none" {
		t.Errorf("the film in exported HTML: %s", got)
	}
}

// Ten runs in a row, a kernel that is restarted, a page that is loaded again and a sweep that
// is interrupted: none of them hangs.
func TestNothingHangs(t *testing.T) {
	b := openBrowser(t, testNotebook)
	b.run(1)
	for i := range 10 {
		b.run(2)
		b.until(`document.querySelector(".nb-live img")`)
		b.move(3 + i)
		b.stop()
		b.ran()
	}
	b.errors()

	b.js(`window.up = false; Jupyter.notebook.kernel.restart(() => { window.up = true })`)
	b.until(`window.up`)
	b.ready()
	b.run(1, 2)
	b.until(`document.querySelector(".nb-live img")`)
	b.move(9)

	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(b.server.URL()))
	b.ready()
	b.Logf("%v after the page was loaded again its slider's cell had ended", b.idle())
	b.run(1, 2)
	b.until(`document.querySelector(".nb-live img")`)
	b.move(9)
	b.js(`Jupyter.notebook.kernel.interrupt()`)
	b.ran()
	if out := b.text(`Jupyter.notebook.get_cell(2).element.text()`); !strings.Contains(out, "(interrupted)") {
		t.Errorf("after an interrupt: %q", out)
	}

	b.run(4)
	b.until(
		`Jupyter.notebook.get_cell(4).element.find(".nb-stop").length &&
			Jupyter.notebook.get_cell(4).element.find("progress").length`)
	b.js(`Jupyter.notebook.get_cell(4).element.find(".nb-stop")[0].click()`)
	b.ran()
	stopped := b.text(`Jupyter.notebook.get_cell(4).element.text()`)
	if !strings.Contains(stopped, "landed") || !strings.Contains(stopped, "<nil>") ||
		strings.Contains(stopped, "landed 20") {
		t.Errorf("after Stop: %q", stopped)
	}
	b.run(4)
	b.until(`Jupyter.notebook.get_cell(4).element.find("progress").length`)
	b.js(`Jupyter.notebook.kernel.interrupt()`)
	b.ran()
	if out := b.text(`Jupyter.notebook.get_cell(4).element.text()`); !strings.Contains(out, "context canceled") {
		t.Errorf("after an interrupt of a sweep: %q", out)
	}
}

func (s *Server) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+path+"?token="+s.Token, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// export returns the notebook at path, relative to the checkout, as HTML, by the server's
// own exporter: what the menu's "Download as" gives.
func (s *Server) export(ctx context.Context, path string) (string, error) {
	resp, err := s.get(ctx, "/nbconvert/html/"+filepath.ToSlash(path))
	if err != nil {
		return "", fmt.Errorf("jupyter: export: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	if err != nil {
		return "", fmt.Errorf("jupyter: export of %s: %w", path, err)
	}
	return string(b), nil
}
