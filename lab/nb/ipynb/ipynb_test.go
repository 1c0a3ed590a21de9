package ipynb

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const source = "# A title\n\nText with `code`.\n\n```sh\nmake\n```\n\nMore.\n\n```go\n%noautoget\nimport \"fmt\"\n```\n" +
	"```go\n%%\nfmt.Println(1 < 2)\n```\n\n## Plans, ε → 0\n\nEnd.\n\n### Deeper\n\nStill the same cell.\n"

func TestFromMarkdown(t *testing.T) {
	nb, err := FromMarkdown(source)
	if err != nil {
		t.Fatal(err)
	}
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
			return heading.Draw(t, "heading") + "\n\ntext\n\n" + strings.Repeat("```go\nx\n```\n", rapid.IntRange(0, 3).Draw(t, "cells"))
		})
		sections := rapid.SliceOfN(section, 1, 5).Draw(t, "sections")
		nb, err := FromMarkdown(strings.Join(sections, "\n"))
		if err != nil {
			t.Fatal(err)
		}
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
	nb, err := FromMarkdown(source)
	if err != nil {
		t.Fatal(err)
	}
	b, err := nb.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "1 < 2") || !strings.Contains(string(b), `"outputs": []`) || !strings.Contains(string(b), `"execution_count": null`) {
		t.Errorf("not as Jupyter writes it:\n%s", b)
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
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
	nb := &Notebook{Cells: []Cell{{ID: "a", Type: Code, Source: "x", Count: 3, Outputs: []Output{
		Stream("stdout", "one\ntwo\n"), Display(map[string]any{"text/html": "<b>"}, nil), Error("E", "v", []string{"t"}),
	}}}}
	b, err := nb.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	c := back.Cells[0]
	if c.Count != 3 || c.Outputs[0].Text("text/plain") != "one\ntwo\n" || c.Outputs[1].Text("text/html") != "<b>" || c.Outputs[2].Kind() != "error" {
		t.Errorf("%+v", c)
	}
	listed := `{"nbformat":4,"cells":[{"id":"a","cell_type":"code","source":["a\n","b"],"outputs":[{"output_type":"stream","name":"stdout","text":["1\n","2"]}]}]}`
	if back, err = Decode([]byte(listed)); err != nil || back.Cells[0].Source != "a\nb" || back.Cells[0].Outputs[0].Text("text/plain") != "1\n2" {
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
