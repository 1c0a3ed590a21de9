package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	c, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.Root, "lab", "nb", "kernel")); err != nil {
		t.Error(err)
	}
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
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
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
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod -buildvcs=false -ldflags=-s")
	if got := goFlags(t.Context(), "."); got != "-buildvcs=false -ldflags=-w" {
		t.Errorf("%q", got)
	}
	c := Checkout{"/r"}
	env := strings.Join(c.Env(), "\n")
	for _, want := range []string{"PATH=/r/bin:", "JUPYTER_DATA_DIR=/r/.coupling/jupyter/data", "IPYTHONDIR=/r/.coupling/jupyter/ipython", "GOWORK=\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %q in %s", want, env)
		}
	}
}

// A kernel that is someone else's is never overwritten; our own of another checkout is.
func TestRegister(t *testing.T) {
	share := t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", share)
	if got, err := UserData(); got != share || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, root := range []string{"/a", "/b"} {
		file, err := Checkout{root}.Register(t.Context(), share)
		if b, _ := os.ReadFile(file); err != nil || !strings.Contains(string(b), `"coupling": "`+root+`"`) {
			t.Errorf("%s: %v: %s", root, err, b)
		}
	}
	foreign := []byte(`{"argv": ["gonb"]}`)
	if err := os.WriteFile(filepath.Join(share, "kernels", Name, "kernel.json"), foreign, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := (Checkout{"/a"}).Register(t.Context(), share); err == nil || !strings.Contains(err.Error(), "is not Coupling's") {
		t.Errorf("over another's: %v", err)
	}
}
