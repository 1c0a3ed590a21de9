package jupyter

import (
	"io"
	"strings"
	"testing"

	"coupling/lab/must"
)

// The one address that a person sees is the one that works.
func TestServerLog(t *testing.T) {
	var out strings.Builder
	l := &serverLog{w: &out}
	for _, part := range []string{
		"[I] Jupyter Server is running at:\n[I] http://localhost:8888/tree?tok",
		"en=...\n[I] kernel started\n[C]\n    To access the server, open this",
		" file in a browser:\n        file:///root/x.html\n",
		"    Or copy and paste one of these URLs:\n        http://127.0.0.1:8888/tree?token=...\n",
	} {
		must.Get(io.WriteString(l, part))
	}
	if want := "[I] kernel started\n[C]\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
