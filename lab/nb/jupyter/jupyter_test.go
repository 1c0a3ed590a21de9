package jupyter

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"coupling/lab/must"
	"coupling/lab/nb/kernel"
)

func TestHost(t *testing.T) {
	for ip, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "127.0.0.2": "127.0.0.2", "localhost": "localhost", "192.0.2.1": "192.0.2.1",
		"0.0.0.0": "127.0.0.1", "*": "127.0.0.1", "::": "::1", "::1": "::1",
	} {
		if got := host(ip); got != want {
			t.Errorf("a server on %s is reached at %s, want %s", ip, got, want)
		}
	}
}

// A port that is taken is an error at once and leaves no server on the next one;
// another address of this machine is as good as the usual.
func TestStart(t *testing.T) {
	if os.Getenv("COUPLING_TEST_NOTEBOOKS") == "" {
		t.Skip("needs Jupyter: make test-notebooks, or COUPLING_TEST_NOTEBOOKS=1")
	}
	if _, err := Find(t.Context()); errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	c := must.Get(kernel.Find(""))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	taken := l.Addr().(*net.TCPAddr).Port
	go func() { // it hangs up on whoever comes
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	log := &strings.Builder{}
	if _, err := Start(t.Context(), c, Options{IP: "127.0.0.1", Port: taken, Output: log}); err == nil ||
		!strings.Contains(err.Error(), "ended at once") {
		t.Errorf("on a port that is taken: %v\n%s", err, log)
	}
	_ = l.Close()
	s := must.Get(Start(t.Context(), c, Options{IP: "127.0.0.2"}))
	if !strings.HasPrefix(s.URL(), "http://127.0.0.2:") {
		t.Error(s.URL())
	}
}
