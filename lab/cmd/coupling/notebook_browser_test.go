//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/lab/must"
	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/jupyter"
	"coupling/lab/nb/kernel"

	"github.com/chromedp/chromedp"
)

// The tour is opened by the command, run from its first cell to its last in Chromium, saved and
// closed. No cell fails, its pictures are in the working copy, no file of the checkout changes and
// no process stays. Its times are logged: the first drawing cell, warm, and a slider's redraw.
func TestOpenedTourLeavesTheCheckoutClean(t *testing.T) {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs Jupyter: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	if have, err := jupyter.Find(t.Context()); errors.Is(err, jupyter.ErrAbsent) ||
		!strings.HasPrefix(have.Version, "6.") {
		t.Skipf("this test knows the pages of Notebook 6: %s, %v", have.Version, err)
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on PATH: sudo apt-get install -y --no-install-recommends chromium")
	}
	c := must.Get(kernel.Find(""))
	before := gitStatus(t)
	copied := aside(t, filepath.Join(c.Root, ".coupling", "notebooks", "00-tour.ipynb"))
	program := filepath.Join(t.TempDir(), "coupling")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd, address := openedNotebook(t, program, "--preset", "smoke")
	p := openPage(t, chromium, address.String())
	p.until(time.Minute,
		`window.Jupyter && Jupyter.notebook && Jupyter.notebook.kernel &&
			Jupyter.notebook.kernel.is_connected() && Jupyter.notebook.get_cells().length > 1`)
	p.runTour()
	p.measure()
	p.eval(`window.saved = false; Jupyter.notebook.save_notebook().then(() => { window.saved = true })`)
	p.until(time.Minute, `window.saved`)
	p.end()

	nb := must.Get(readNotebook(copied))
	pictures := 0
	for _, cell := range nb.Cells {
		if cell.Type == ipynb.Code && cell.Count == 0 {
			t.Errorf("cell %s was not run", cell.ID)
		}
		for _, o := range cell.Outputs {
			if o.Kind() == "error" {
				t.Errorf("cell %s: %v", cell.ID, o)
			}
			if o.Text("image/png") != "" {
				pictures++
			}
		}
	}
	if pictures < 5 {
		t.Errorf("%d pictures in the working copy", pictures)
	}
	must.Do(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	until(t, "Jupyter still runs", func() bool { return len(running(t, "--port="+address.Port())) == 0 })
	if after := gitStatus(t); after != before {
		t.Errorf("git status:\n%s\nand after:\n%s", before, after)
	}
}

func gitStatus(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("git", "status", "--porcelain").Output()
	if err != nil {
		t.Skip("no git checkout:", err)
	}
	return string(out)
}

// aside removes a file for the time of the test, and returns its path.
func aside(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		t.Cleanup(func() { _ = os.WriteFile(file, b, 0o666) })
		err = os.Remove(file)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return file
}

// page is a page of Notebook 6 in headless Chromium.
type page struct {
	*testing.T
	ctx context.Context
	end func()
}

func openPage(t *testing.T, chromium, address string) *page {
	t.Helper()
	allocator, cancel := chromedp.NewExecAllocator(t.Context(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox)...)
	ctx, end := chromedp.NewContext(allocator)
	p := &page{T: t, ctx: ctx, end: func() { end(); cancel() }}
	t.Cleanup(p.end)
	must.Do(chromedp.Run(ctx, chromedp.Navigate(address)))
	return p
}

// eval runs a statement in the page.
func (p *page) eval(statement string) {
	p.Helper()
	if err := chromedp.Run(p.ctx, chromedp.Evaluate("(() => {"+statement+"})()", nil)); err != nil {
		p.Fatalf("%s: %v", statement, err)
	}
}

// until waits for an expression to be true, and returns how long that took.
func (p *page) until(limit time.Duration, expression string) time.Duration {
	p.Helper()
	began := time.Now()
	for time.Since(began) < limit {
		var ok bool
		if err := chromedp.Run(p.ctx, chromedp.Evaluate("!!("+expression+")", &ok)); err != nil {
			p.Fatalf("%s: %v", expression, err)
		}
		if ok {
			return time.Since(began)
		}
		time.Sleep(5 * time.Millisecond)
	}
	var texts string
	_ = chromedp.Run(p.ctx,
		chromedp.Evaluate(
			`JSON.stringify(Jupyter.notebook.get_cells().map(c => c.output_area &&
				c.output_area.outputs.map(o => o.text || o.evalue || Object.keys(o.data || o))))`, &texts))
	p.Fatalf("not within %v: %s\n%s", limit, expression, texts)
	return 0
}

const allRan = `!Jupyter.notebook.kernel_busy &&
	Jupyter.notebook.get_cells().every(c => !c.element.hasClass("running"))`

// runTour runs all cells, and presses Stop where a slider waits for its reader.
func (p *page) runTour() {
	p.Helper()
	p.eval(`Jupyter.notebook.execute_all_cells()`)
	took := p.until(8*time.Minute,
		`(() => { document.querySelectorAll(".nb-live .nb-stop").forEach(b => b.click()); return `+allRan+` })()`)
	p.Logf("the tour ran in %v", took)
}

// measure runs the cell of the first slider again, whose parts are compiled, and moves it.
func (p *page) measure() {
	p.Helper()
	p.eval(
		`Jupyter.notebook.execute_cells([Jupyter.notebook.get_cells().findIndex(
			c => c.cell_type === "code" && c.get_text().includes("nb.Slider("))])`)
	p.Logf("the first drawing cell, warm: its picture after %v",
		p.until(time.Minute, `document.querySelector(".nb-live img")`))
	for _, to := range []string{"5", "9", "20", "25", "28"} {
		p.eval(`window.before = document.querySelector(".nb-live img").src;
			const s = document.querySelector(".nb-live input[type=range]"); s.value = ` + to +
			`; s.dispatchEvent(new Event("input"))`)
		p.Logf("the slider at %s: redrawn after %v", to,
			p.until(time.Minute, `document.querySelector(".nb-live img").src !== window.before`))
	}
	p.eval(`document.querySelector(".nb-live .nb-stop").click()`)
	p.until(time.Minute, `!document.querySelector(".nb-live") && `+allRan)
}
