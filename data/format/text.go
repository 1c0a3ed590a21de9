package format

import (
	"bufio"
	"errors"
	"io"
	"strconv"
)

// lines walks over the lines of a text; a line may not be longer than longest bytes.
type lines struct {
	scanner *bufio.Scanner
	number  int // of the current line, from 1
}

func newLines(r io.Reader, longest int) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), longest)
	return &lines{scanner: s}
}

// next returns the next line without its end; ok is false at the end of the text.
func (l *lines) next() (line string, ok bool, err error) {
	if !l.scanner.Scan() {
		if err := l.scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
			return "", false, badf("line %d is too long", l.number+1)
		} else if err != nil {
			return "", false, err
		}
		return "", false, nil
	}
	l.number++
	return l.scanner.Text(), true, nil
}

// decimal parses a plain decimal number: no hexadecimal, no underscores, no
// infinities, no NaN.
func decimal(s string) (float64, bool) {
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// clip shortens untrusted text for an error message.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
