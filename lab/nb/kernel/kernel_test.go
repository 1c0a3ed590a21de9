package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab/must"
)

func TestFind(t *testing.T) {
	c := must.Get(Find(""))
	must.Get(os.Stat(filepath.Join(c.Root, "lab", "nb", "kernel")))
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no checkout") {
		t.Error(err)
	}
}

// What Check says of a checkout, from nothing to all that is needed.
func TestCheck(t *testing.T) {
	c := Checkout{t.TempDir()}
	wants := func(text string) {
		t.Helper()
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: want %q", err, text)
		}
	}
	put := func(path, text string) {
		must.Do(os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(os.WriteFile(path, []byte(text), 0o777))
	}
	wants("not installed")
	put(c.Spec(), "{")
	wants("damaged")
	put(c.Spec(), `{"argv": ["/elsewhere/bin/gonb"]}`)
	wants("moved")
	put(c.Spec(), `{"argv": ["`+c.GoNB()+`"]}`)
	wants("gonb is not built")
	put(c.GoNB(), "")
	wants("goimports is not built")
	put(filepath.Join(c.Bin(), "goimports"), "")
	must.Do(c.Check())
}

func TestFlags(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod -buildvcs=false -ldflags=-s")
	if got := goFlags(t.Context(), "."); got != "-buildvcs=false -ldflags=-w" {
		t.Errorf("%q", got)
	}
	c := Checkout{"/r"}
	env := strings.Join(c.Env(), "\n")
	for _, want := range []string{"PATH=/r/bin:", "JUPYTER_DATA_DIR=/r/.coupling/jupyter/data",
		"IPYTHONDIR=/r/.coupling/jupyter/ipython", "GOWORK=\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in %s", want, env)
		}
	}
}

// Two projects have a kernel each, in any order and however often they register; what is someone
// else's is never overwritten.
func TestRegister(t *testing.T) {
	share := t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", share)
	if got, err := UserData(); got != share || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, want := range []struct{ root, name, display string }{
		{"/a", "gonb", "Go (gonb)"}, {"/b", "gonb-b", "Go (gonb, b)"}, {"/a", "gonb", "Go (gonb)"},
		{"/b", "gonb-b", "Go (gonb, b)"},
		{"/my own ü", "gonb-my-own-", "Go (gonb, my own ü)"},
	} {
		file, display, err := Checkout{want.root}.Register(t.Context(), share)
		if err != nil || file != filepath.Join(share, "kernels", want.name, "kernel.json") || display != want.display {
			t.Errorf("%s: %s, %s, %v", want.root, file, display, err)
		}
	}
	for name, root := range map[string]string{"gonb": "/a", "gonb-b": "/b"} {
		if b, err := os.ReadFile(filepath.Join(share, "kernels", name, "kernel.json")); err != nil ||
			!strings.Contains(string(b), `"coupling": "`+root+`"`) {
			t.Errorf("%s: %v: %s", name, err, b)
		}
	}
	if _, _, err := (Checkout{"/elsewhere/b"}).Register(t.Context(), share); err == nil ||
		!strings.Contains(err.Error(), "is another project's") {
		t.Errorf("over another's: %v", err)
	}
}
