package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"

	"github.com/chromedp/chromedp"
)

// browser returns a tab of a headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium on PATH: apt-get install chromium, and the page is tested in it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WindowSize(1440, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// landed makes n stored cells without a disk.
func landed(n int) []store.Change {
	rnd := rand.New(rand.NewPCG(1, 2))
	out := make([]store.Change, n)
	for i := range out {
		p := params{
			Eps:    1e-3 * float64(int(1)<<rnd.IntN(10)),
			N:      100 * (1 + i%10),
			Solver: []string{"lbfgs", "newton", "sinkhorn"}[i%3],
			Tol:    1e-9,
		}
		r := descent.Jobs(uint64(i/30), p)[0].Record()
		r.Value, _ = json.Marshal(descend(rnd.NormFloat64(), p))
		r.Manifest = store.Manifest{
			Start:   time.Date(2024, 5, 1, 0, 0, i, 0, time.UTC),
			Seconds: rnd.ExpFloat64() * float64(p.N) / 100,
			Device:  "cpu",
			Host:    "node1",
		}
		out[i] = store.Change{Name: r.Name(), Experiment: r.Experiment, Status: store.Status{Stored: true}, Record: r}
	}
	return out
}

// text is the number that a script gives, or what the page shows at a selector.
func text(t *testing.T, ctx context.Context, script string) string {
	var out string
	must.Do(chromedp.Run(ctx, chromedp.Evaluate("String("+script+")", &out)))
	return out
}

// await waits until a script is true.
func await(t *testing.T, ctx context.Context, script string) {
	t.Helper()
	if err := chromedp.Run(ctx, chromedp.Poll(script, nil, chromedp.WithPollingTimeout(2*time.Minute))); err != nil {
		t.Fatalf("%s: %v; counts: %s, note: %s", script, err,
			text(t, ctx, "document.querySelector('#counts').textContent"),
			text(t, ctx, "document.querySelector('#filternote').textContent"))
	}
}

func run(ctx context.Context, actions ...chromedp.Action) {
	must.Do(chromedp.Run(ctx, actions...))
}

// picture is written where RUNS_PICTURES says, for people to look at.
func picture(ctx context.Context, name string) {
	dir := os.Getenv("RUNS_PICTURES")
	if dir == "" {
		return
	}
	var b []byte
	run(ctx, chromedp.CaptureScreenshot(&b))
	must.Do(os.WriteFile(filepath.Join(dir, name+".png"), b, 0o666))
}

const painted = `(id => {
	const c = document.querySelector(id), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	let n = 0;
	for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })`

// The page with ten thousand cells, as a person uses it.
func TestPageInABrowser(t *testing.T) {
	ctx := browser(t)
	s, v, web, _ := serve(t, "")
	for _, c := range landed(10_000) {
		v.index.add(c)
	}
	var errors []string
	run(ctx, chromedp.Navigate(web.URL+v.Path()),
		chromedp.Evaluate("window.onerror = m => (window.faults ||= []).push(m), 0", nil))
	await(t, ctx, `document.querySelector('#counts').textContent.includes('10,000 stored')`)
	picture(ctx, "all")

	// A plot is of one experiment, that of most cells, also on a telephone, where nothing is wider than the page.
	run(ctx, chromedp.EmulateViewport(390, 844), chromedp.Click(`button[data-tab=plot]`))
	await(t, ctx, painted+`('#scatter') > 5000 && document.querySelector('#px').value.startsWith('p:')`)
	await(t, ctx,
		`document.documentElement.scrollWidth <= 390 && document.querySelector('#scatter').clientHeight > 200`)
	picture(ctx, "telephone")
	await(t, ctx, `(import('/draw.js').then(m => {
		const rows = [1e-300, 1, 1e300, -1].map(x => ({params: {x}}));
		window.places = JSON.stringify(
				rows.map(r => m.scale(rows, 'p:x', true).at(r.params.x) ?? null).map(u => u === null));
	}), window.places) === '[true,false,true,true]'`)
	run(ctx, chromedp.EmulateViewport(1440, 900), chromedp.Click(`button[data-tab=table]`))

	// An experiment is chosen: its parameters and values are columns, what is the same everywhere is aside.
	run(ctx, chromedp.Click("#experiments li:nth-child(2)"))
	await(t, ctx, `[...document.querySelectorAll('th')].some(h => h.textContent.includes('loss'))`)
	if got := text(t, ctx, `document.querySelector('#constants').textContent`); got != "tol1e-9" {
		t.Errorf("constants %q", got)
	}
	if n := text(t, ctx, "document.querySelectorAll('#body tr').length < 120"); n != "true" {
		t.Error("lines that are out of sight are built")
	}
	picture(ctx, "table")

	// Sorted, filtered, grouped.
	run(ctx, chromedp.Evaluate(
		`[...document.querySelectorAll('th')].find(h => h.textContent.includes('loss')).click()`, nil))
	sorted :=
		`(() => { const i = [...document.querySelectorAll('th')].findIndex(h => h.textContent.includes('loss'));
			const v = [...document.querySelectorAll('#body tr:not(.pad)')].map(r => +r.children[i].textContent);
			return v.length > 10 && v.every((x, k) => !k || x >= v[k-1]); })()`
	await(t, ctx, sorted)
	run(ctx, chromedp.SendKeys("#filter", "solver=newton eps<0.01 n>=500"))
	want := 0
	for _, c := range landed(10_000) {
		var p params
		must.Do(json.Unmarshal(c.Record.Params, &p))
		if p.Solver == "newton" && p.Eps < .01 && p.N >= 500 {
			want++
		}
	}
	await(t, ctx, fmt.Sprintf(`document.querySelector('#filternote').textContent === '%d of 10000 cells'`, want))
	run(ctx, chromedp.SendKeys("#filter", " nosuch=3"))
	await(t, ctx, `document.querySelector('#filternote').textContent === 'there is no nosuch'`)
	run(ctx, chromedp.Evaluate(
		`{const f = document.querySelector('#filter'); f.value = 'solver!=newton'; f.oninput({target: f});
			const g = document.querySelector('#group'); g.value = 'p:n'; g.onchange({target: g}); 0}`, nil))
	await(t, ctx,
		`document.querySelectorAll('#body tr:not(.pad)').length === 10 &&
			document.querySelector('#body').textContent.includes('±')`)
	picture(ctx, "groups")

	// Plots.
	run(ctx, chromedp.Evaluate(
		`{const f = document.querySelector('#filter'); f.value = ''; f.oninput({target: f});
			const g = document.querySelector('#group'); g.value = ''; g.onchange({target: g}); 0}`, nil),
		chromedp.Click(`button[data-tab=plot]`))
	await(t, ctx, painted+`('#scatter') > 20000`)
	if got := text(t, ctx, `['px', 'py', 'pc'].map(id => document.querySelector('#' + id).value)`); got !=
		"p:eps,v:loss,p:n" {
		t.Errorf("a plot of %s: the first value over the parameter of most values, by the next", got)
	}
	picture(ctx, "plot")
	// A line joins replicates of one setting: seeds are averaged, and no point of another setting is on it.
	await(t, ctx, `(import('/draw.js').then(m => {
		const p = (x, y, eps) => ({x, y, row: {eps}});
		const l = m.lines([p(1, 0, 'a'), p(2, 4, 'a'), p(1, 2, 'a'), p(1, 9, 'b'), p(2, 9, 'b'),
				p(3, 7, 'c')], r => r.eps);
		window.lines = JSON.stringify(l.map(s => s.line.map(v => v.map(Math.round))));
	}), window.lines) === '[[[1,1,1],[2,4,0]],[[1,9,0],[2,9,0]]]'`)
	run(ctx, chromedp.Click(`button[data-tab=parallel]`))
	await(t, ctx, painted+`('#coordinates') > 20000`)
	run(ctx, chromedp.Evaluate(
		`{const c = document.querySelector('#coordinates'), b = c.getBoundingClientRect();
			const at = (type, y) => c.dispatchEvent(new PointerEvent(type, {
				clientX: b.left + 60, clientY: b.top + b.height * y, pointerId: 1, bubbles: true}));
			c.setPointerCapture = () => {};
			at('pointerdown', .2); at('pointermove', .5); at('pointerup', .5); 0}`, nil))
	await(t, ctx, `/^\d+ of 10000 cells$/.test(document.querySelector('#filternote').textContent)`)
	picture(ctx, "parallel")

	// Two cells side by side.
	run(ctx, chromedp.Click(`button[data-tab=table]`), chromedp.Sleep(200*time.Millisecond),
		chromedp.Evaluate(`document.querySelectorAll('#body input')[0].click()`, nil),
		chromedp.Evaluate(`document.querySelectorAll('#body input')[7].click()`, nil),
		chromedp.Click(`button[data-tab=compare]`))
	await(t, ctx, `document.querySelector('#diff').textContent.includes('loss')`)
	picture(ctx, "compare")

	// A cell lands while the page is open; one that fails says why, as text.
	for _, n := range []int{7, 14} {
		_, _ = lab.Do(t.Context(), s, descent, 77, params{Eps: .5, N: n, Solver: "late"}) // 14 fails
	}
	await(t, ctx,
		`document.querySelector('#counts').textContent.includes('10,001 stored') &&
			document.querySelector('#counts').textContent.includes('1 failed')`)
	run(ctx, chromedp.Evaluate(`window.faults || []`, &errors))
	if len(errors) > 0 {
		t.Errorf("the page met errors: %q", errors)
	}
}

// The figures of a gallery are shown, and nothing is asked of another host.
func TestFiguresInABrowser(t *testing.T) {
	ctx := browser(t)
	dir := t.TempDir()
	page :=
		`{"name":"tour/line","title":"A line","shows":"","preset":"quick","size":"",
			"seed":1,"device":"cpu","command":"",
			"pictures":[{"caption":"","files":["tour/line.svg"]}],"tables":null,"notes":null,
			"claims":[{"what":"","source":"","expected":"","tolerance":"","got":"","verdict":"holds","why":""}],
			"cells":{"count":0,"versions":null,"seconds":0,"first":"2024-01-01T00:00:00Z",
			"last":"2024-01-01T00:00:00Z","commits":null,"devices":null,"cpus":null,"go":null}}`
	svg :=
		`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><path d="M0 100L200 0" stroke="teal"/></svg>`
	must.Do(os.MkdirAll(filepath.Join(dir, "tour"), 0o777))
	for name, text := range map[string]string{"tour/line.json": page, "tour/line.svg": svg} {
		must.Do(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	_, v, web, _ := serve(t, dir)
	run(ctx, chromedp.Navigate(web.URL+v.Path()), chromedp.Click(`button[data-tab=figures]`))
	await(t, ctx, `document.querySelector('#gallery img')?.naturalWidth === 200`)
	if got := text(t, ctx, `document.querySelector('#gallery').textContent`); !strings.Contains(got,
		"1 of 1 claims hold") {
		t.Errorf("%q", got)
	}
	hosts := text(t, ctx,
		`performance.getEntriesByType('resource').map(e => new URL(e.name).host).filter(
			h => h !== location.host).join()`)
	if hosts != "" {
		t.Errorf("asked of other hosts: %s", hosts)
	}
}
