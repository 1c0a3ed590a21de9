package jupyter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"coupling/lab/must"
	"coupling/lab/nb/kernel"
)

// The pictures of the README, made afresh from the notebooks themselves:
//
//	COUPLING_TEST_NOTEBOOKS=1 COUPLING_PRESET=quick COUPLING_SCREENSHOTS=$PWD/notebooks/assets \
//	    go test -run Screenshots ./lab/nb/jupyter
func TestScreenshots(t *testing.T) {
	if os.Getenv("COUPLING_SCREENSHOTS") == "" {
		t.Skip("makes pictures for people to look at, where COUPLING_SCREENSHOTS names a folder")
	}
	t.Run("tour", func(t *testing.T) {
		b := openBrowser(t, source(t, "00-tour"))
		b.plain()
		at := b.cell("nb.Slider(")
		b.run(b.cell("%noautoget"), at)
		b.until(`document.querySelector(".nb-live img")`)
		b.move(17)
		b.scroll(at - 1)
		b.shot("tour")
	})
	t.Run("sweep", func(t *testing.T) {
		b := openBrowser(t, source(t, "sweep"))
		b.plain()
		at := b.cell("nb.NewBoard()")
		b.run(b.cell("%noautoget"), b.cell("type Params"), at)
		b.until(fmt.Sprintf(
			`Jupyter.notebook.get_cell(%d).output_area.outputs.some(o => o.data && o.data["image/png"])`, at))
		b.until(fmt.Sprintf(`+(Jupyter.notebook.get_cell(%d).element.find("progress").val() || 0) > 26`, at))
		b.js(`Jupyter.notebook.get_cell(%d).element.find(".output_wrapper")[0].scrollIntoView({block: "end"})`, at)
		b.shot("sweep")
		b.js(`Jupyter.notebook.get_cell(%d).element.find(".nb-stop").click()`, at)
		b.ran()
	})
	t.Run("paper", func(t *testing.T) {
		b := openBrowser(t, source(t, "analytic-sinkhorn"))
		b.plain()
		at := b.cell("nb.Make(analytic.Proposition1")
		b.run(b.cell("%noautoget"), at)
		b.ran()
		b.scroll(at - 1)
		b.shot("paper")
	})
}

// source is a notebook of the project.
func source(t *testing.T, name string) string {
	c := must.Get(kernel.Find(""))
	md := must.Get(os.ReadFile(filepath.Join(c.Root, "notebooks", name+".md")))
	return string(md)
}

// plain hides what is Jupyter's.
func (b *browser) plain() {
	b.js(
		`document.querySelector("#header").style.display = "none";
		document.querySelector("#site").style.height = window.innerHeight + "px";
		Jupyter.notebook.get_cells().forEach(c => c.unselect && c.unselect());`)
}

// cell is the position of the first cell of code that has text in it.
func (b *browser) cell(text string) int {
	b.Helper()
	at := b.text(
		fmt.Sprintf(`Jupyter.notebook.get_cells().findIndex(c => c.cell_type === "code" && c.get_text().includes(%q))`,
			text))
	n, err := strconv.Atoi(at)
	if err != nil || n < 0 {
		b.Fatalf("no cell has %q", text)
	}
	return n
}

func (b *browser) scroll(cell int) {
	b.js(`Jupyter.notebook.get_cell(%d).element[0].scrollIntoView({block: "start"})`, cell)
	time.Sleep(300 * time.Millisecond)
}
