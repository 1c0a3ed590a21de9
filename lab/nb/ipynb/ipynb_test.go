package ipynb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "coupling/lab/draws"
	"coupling/lab/must"
)

const source = "# A title\n\nText with `code`.\n\n```sh\nmake\n```\n\nMore.\n\n```go\n%noautoget\nimport " +
	"\"fmt\"\n```\n" +
	"```go\n%%\nfmt.Println(1 < 2)\n```\n\n## Plans, ε → 0\n\nEnd.\n\n### Deeper\n\nStill the same cell.\n"

func TestFromMarkdown(t *testing.T) {
	nb := must.Get(FromMarkdown(source))
	want := []Cell{
		{ID: "a-title-1", Type: Markdown, Source: "# A title\n\nText with `code`.\n\n```sh\nmake\n```\n\nMore."},
		{ID: "a-title-2", Type: Code, Source: "%noautoget\nimport \"fmt\""},
		{ID: "a-title-3", Type: Code, Source: "%%\nfmt.Println(1 < 2)"},
		{ID: "plans-0-1", Type: Markdown, Source: "## Plans, ε → 0\n\nEnd.\n\n### Deeper\n\nStill the same cell."},
	}
	if d := cmp.Diff(want, nb.Cells); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "\n\n", "text\n```go\nx"} {
		if _, err := FromMarkdown(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := FromMarkdown("a\n\n```go\nx"); !strings.Contains(err.Error(), "line 3") {
		t.Error(err)
	}
}

// What nbformat 4.5 asks for, and that others' sections leave ids alone.
func TestIDs(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9-_]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		heading := rapid.StringMatching(`#{1,2} [^\n#]{1,80}`)
		section := rapid.Custom(func(t *rapid.T) string {
			return heading.Draw(t, "heading") + "\n\ntext\n\n" +
				strings.Repeat("```go\nx\n```\n", rapid.IntRange(0, 3).Draw(t, "cells"))
		})
		sections := rapid.SliceOfN(section, 1, 5).Draw(t, "sections")
		nb := must.Get(FromMarkdown(strings.Join(sections, "\n")))
		seen := map[string]bool{}
		for _, c := range nb.Cells {
			if !valid.MatchString(c.ID) || seen[c.ID] {
				t.Fatalf("id %q", c.ID)
			}
			seen[c.ID] = true
		}
	})
}

func TestEncodeDecode(t *testing.T) {
	nb := must.Get(FromMarkdown(source))
	b := must.Get(nb.Encode())
	if !strings.Contains(string(b), "1 < 2") || !strings.Contains(string(b), `"outputs": []`) ||
		!strings.Contains(string(b), `"execution_count": null`) {
		t.Errorf("not as Jupyter writes it:\n%s", b)
	}
	back := must.Get(Decode(b))
	for i := range back.Cells {
		if len(back.Cells[i].Outputs) == 0 {
			back.Cells[i].Outputs = nil
		}
	}
	if d := cmp.Diff(nb, back); d != "" {
		t.Error(d)
	}
}

func TestOutputs(t *testing.T) {
	nb := &Notebook{Cells: []Cell{{
		ID:     "a",
		Type:   Code,
		Source: "x",
		Count:  3,
		Outputs: []Output{
			Stream("stdout", "one\ntwo\n"), Display(map[string]any{"text/html": "<b>"}, nil),
			Error("E", "v", []string{"t"}),
		},
	}}}
	b := must.Get(nb.Encode())
	back := must.Get(Decode(b))
	c := back.Cells[0]
	if c.Count != 3 || c.Outputs[0].Text("text/plain") != "one\ntwo\n" || c.Outputs[1].Text("text/html") != "<b>" ||
		c.Outputs[2].Kind() != "error" {
		t.Errorf("%+v", c)
	}
	listed :=
		`{"nbformat":4,"cells":[{"id":"a","cell_type":"code","source":["a\n","b"],
			"outputs":[{"output_type":"stream","name":"stdout","text":["1\n","2"]}]}]}`
	if back, err := Decode([]byte(listed)); err != nil || back.Cells[0].Source != "a\nb" ||
		back.Cells[0].Outputs[0].Text("text/plain") != "1\n2" {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := Decode([]byte(`{"nbformat":3}`)); err == nil {
		t.Error("nbformat 3 is accepted")
	}
	if _, err := (&Notebook{Cells: []Cell{{ID: "a"}, {ID: "a"}}}).Encode(); err == nil {
		t.Error("two cells have one id")
	}
	if !json.Valid(b) {
		t.Error("not JSON")
	}
}

func TestMarkdown(t *testing.T) {
	nb := must.Get(FromMarkdown(source))
	back := must.Get(FromMarkdown(nb.Markdown()))
	if d := cmp.Diff(nb, back); d != "" {
		t.Error(d)
	}
}

// A page shows what its cells have shown, and without that is its notebook again.
func TestPage(t *testing.T) {
	nb := must.Get(FromMarkdown(source))
	before, _ := must.Get2(nb.Page("a"))
	var b bytes.Buffer
	must.Do(png.Encode(&b, image.NewGray(image.Rect(0, 0, 900, 3))))
	dot := base64.StdEncoding.EncodeToString(b.Bytes())
	frames := `<div id="x" class="nb-film"><label>ε <input><output>1</output></label>`
	for _, v := range []string{"1", "2", "3", "4", "5"} {
		frames += `<div class="nb-frame" data-value="` + v +
			`" style="display:none"><img alt="figure" width="9" src="data:image/png;base64,` + dot + `"></div>`
	}
	nb.Cells[2].Outputs = []Output{
		Stream("stdout", "1 < 2\n"), Stream("stderr", "noise"), Display(map[string]any{"image/png": dot}, nil),
		Display(map[string]any{"text/html": frames + "<script>alert(1)</script></div>"}, nil),
		Display(map[string]any{"text/html": `<table class="t"><tr style="x"><td>a

</td></tr></table>`}, nil),
	}
	page, pictures := must.Get2(nb.Page("a"))
	if PageSource(page) != before || len(pictures) != 4 || len(PagePictures(page)) != 4 {
		t.Errorf("%d pictures\n%s", len(pictures), page)
	}
	for _, want := range []string{"```text\n1 < 2\n```", "ε = 1<br>", "ε = 3<br>", "ε = 5<br>", "<tr><td>a\n</td>",
		`<img src="a-1.png"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for _, not := range []string{"script", "style", "noise", "ε = 2"} {
		if strings.Contains(page, not) {
			t.Errorf("%q in\n%s", not, page)
		}
	}
	small, err := png.DecodeConfig(bytes.NewReader(pictures["a-1.png"]))
	if err != nil || small.Width != 640 {
		t.Errorf("%+v, %v", small, err)
	}
}
