package jupyter

import (
	"bytes"
	"io"
	"regexp"
)

// addresses matches the lines in which a server prints addresses. It hides the token in them, so that they open
// nothing: only [Server.URL] does.
var addresses = regexp.MustCompile(`token=|file://|To access the |copy and paste one of|is running at:`)

// serverLog passes the lines of a server's log on, but for those with addresses.
type serverLog struct {
	w    io.Writer
	rest []byte // of a line without its end
}

func (l *serverLog) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if !addresses.Match(line) {
			if _, err := l.w.Write(append(bytes.Clone(line), '\n')); err != nil {
				return 0, err
			}
		}
		l.rest = rest
	}
}
