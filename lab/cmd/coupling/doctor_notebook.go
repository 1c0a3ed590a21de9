package main

import (
	"context"
	"debug/buildinfo"
	"path/filepath"
	"strings"
	"time"

	"coupling/lab/nb/jupyter"
	"coupling/lab/nb/kernel"
)

// checkNotebooks looks at each part that notebooks need, none of which the rest
// of the command does.
func checkNotebooks(ctx context.Context) []check {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out := []check{checkJupyter(ctx)}
	c, err := kernel.Find("")
	if err != nil {
		return append(out, check{"gonb", absent, err.Error(), "run it inside a checkout of Coupling"})
	}
	// a reader may use any
	return append(out, checkKernel(c), checkProgram("chromium",
		"not on PATH: make test-notebooks skips the test in a browser",
		"sudo apt-get install -y --no-install-recommends chromium", "chromium", "chromium-browser", "google-chrome"))
}

func checkJupyter(ctx context.Context) check {
	have, err := jupyter.Find(ctx)
	if err != nil {
		return check{"jupyter", absent, "no notebooks in a browser: " + strings.TrimPrefix(err.Error(), "jupyter: "),
			jupyter.Remedy}
	}
	return check{Part: "jupyter", State: good, Found: filepath.Base(have.Program) + " " + have.Version}
}

// checkKernel looks for the kernel in the checkout, where make notebook puts it.
func checkKernel(c kernel.Checkout) check {
	if c.Check() != nil {
		return check{Part: "gonb", State: good, Found: "to be built, with goimports, when a notebook is first opened"}
	}
	built, err := buildinfo.ReadFile(c.GoNB())
	if err != nil {
		return check{"gonb", absent, err.Error(), "rm " + c.GoNB() + " && " + c.Command() + " notebook install"}
	}
	version := ""
	for _, m := range append(built.Deps, &built.Main) {
		if strings.HasSuffix(m.Path, "/gonb") {
			version = m.Version + ", "
		}
	}
	return check{Part: "gonb", State: good, Found: version + filepath.Dir(c.Spec())}
}
