//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/nb/ipynb"
	"coupling/lab/nb/jupyter"
	"coupling/lab/nb/kernel"
)

// A generated notebook is opened as a copy, which can be compared and started over; one's own is opened itself.
func TestWorkingCopy(t *testing.T) {
	c := kernel.Checkout{Root: t.TempDir()}
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(c.Root, "notebooks", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	put("../go.mod", "module own\n\ntool github.com/janpfeifer/gonb\n")
	for name, text := range map[string]string{"a": "# A\n", "b": "# B\n", "own": "# Own\n"} {
		put(name+".md", text)
	}
	if err := ipynb.Generate(filepath.Join(c.Root, "notebooks")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.Root, "notebooks", "own.md")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(c.Root)
	var out, errs strings.Builder
	a := &app{out: &out, err: &errs}
	opened, err := workingCopy(a, c, filepath.Join("notebooks", "a.ipynb"))
	if err != nil || opened != filepath.Join(".coupling", "notebooks", "a.ipynb") || errs.Len() > 0 {
		t.Fatalf("%s, %v, %s", opened, err, errs.String())
	}
	if _, err := os.Stat(filepath.Join(".coupling", "notebooks", "b.ipynb")); err != nil {
		t.Error("what the notebook links to is not beside it:", err)
	}
	if own, err := workingCopy(a, c, filepath.Join("notebooks", "own.ipynb")); err != nil || own != filepath.Join("notebooks", "own.ipynb") {
		t.Errorf("%s, %v", own, err)
	}
	edited := strings.Replace(read(t, opened), "# A", "# Edited", 1)
	if err := os.WriteFile(opened, []byte(edited), 0o666); err != nil {
		t.Fatal(err)
	}
	if again, err := workingCopy(a, c, filepath.Join("notebooks", "a.ipynb")); err != nil || again != opened || !strings.Contains(errs.String(), "coupling notebook diff a") {
		t.Errorf("%s, %v, %q", again, err, errs.String())
	}
	if err := (notebookDiffCmd{"a"}).Run(a); err != nil || !strings.Contains(out.String(), "-# A\n+# Edited\n") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := (notebookResetCmd{"a"}).Run(a); err != nil {
		t.Fatal(err)
	}
	if read(t, opened) != read(t, filepath.Join("notebooks", "a.ipynb")) || read(t, filepath.Join(".coupling", "notebooks", "a-old.ipynb")) != edited {
		t.Error("reset did not put the edited copy aside and start over")
	}
	if err := (notebookResetCmd{"own"}).Run(a); err == nil || !strings.Contains(err.Error(), "no working copy") {
		t.Error(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The tour is opened and saved by Jupyter, and no file of the checkout changes.
func TestOpenedTourLeavesTheCheckoutClean(t *testing.T) {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs Jupyter: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	if _, err := jupyter.Find(t.Context()); errors.Is(err, jupyter.ErrAbsent) {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "coupling")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status := func() string {
		out, err := exec.Command("git", "status", "--porcelain").Output()
		if err != nil {
			t.Skip("no git checkout:", err)
		}
		return string(out)
	}
	before := status()
	_, address := openedNotebook(t, program)
	path := strings.TrimPrefix(address.Path, "/notebooks/")
	var file struct {
		Content map[string]any `json:"content"`
	}
	if err := json.Unmarshal(contents(t, address, http.MethodGet, path, nil), &file); err != nil {
		t.Fatal(err)
	}
	model, err := json.Marshal(map[string]any{"type": "notebook", "format": "json", "content": file.Content})
	if err != nil {
		t.Fatal(err)
	}
	saved := contents(t, address, http.MethodPut, path, model)
	if !strings.HasPrefix(path, ".coupling/notebooks/") || !bytes.Contains(saved, []byte("last_modified")) {
		t.Errorf("%s: %s", path, saved)
	}
	if after := status(); after != before {
		t.Errorf("git status:\n%s\nand after:\n%s", before, after)
	}
}

// contents asks Jupyter for a file, or gives it one, as its pages do.
func contents(t *testing.T, address *url.URL, method, path string, body []byte) []byte {
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address.Host+"/api/contents/"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+address.Query().Get("token"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %v %s", method, path, resp.Status, err, b)
	}
	return b
}
