package format

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// eachLine calls f with the lines of a text, without their ends, and their numbers from 1. A line
// may not be longer than longest bytes.
func eachLine(r io.Reader, longest int, f func(number int, line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), longest)
	number := 0
	for s.Scan() {
		number++
		if err := f(number, s.Text()); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return badf("line %d is too long", number+1)
	}
	return s.Err()
}

// decimal parses a plain decimal number: no hexadecimal, no underscores, no
// infinities, no NaN.
func decimal(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && strings.Trim(s, "0123456789+-.eE") == ""
}

// clip shortens untrusted text for an error message.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
