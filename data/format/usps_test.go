package format

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"coupling/lab/must"
)

// digit is a line of a USPS file: a label and 256 grey values that all equal v.
func digit(label, v string) string {
	return label + strings.Repeat(" "+v, USPSPixels) + " \n"
}

func TestReadUSPS(t *testing.T) {
	in := digit("6.0000", "-1.0000") + digit("9", "0.25") + strings.TrimSuffix(digit("0", "1e-1"), " \n")
	got := must.Get(ReadUSPS(strings.NewReader(in), 3))
	if fmt.Sprint(got.Labels) != "[6 9 0]" {
		t.Errorf("labels %v: want [6 9 0]", got.Labels)
	}
	for i, want := range []float32{-1, 0.25, 0.1} {
		for j, v := range got.Pixels[i*USPSPixels : (i+1)*USPSPixels] {
			if v != want {
				t.Fatalf("pixel %d of digit %d is %v: want %v", j, i, v, want)
			}
		}
	}
}

func TestReadUSPSRefuses(t *testing.T) {
	good := digit("6.0000", "-1.0000")
	refuse(t, func(r io.Reader) (*USPS, error) { return ReadUSPS(r, 2) }, map[string]bad[string]{
		"empty":            {"", "no lines"},
		"truncated":        {good + good[:len(good)-20], "line 2: 25"},
		"blank line":       {good + "\n", "line 2: 0 columns"},
		"column too many":  {strings.Replace(good, " \n", " 0.5\n", 1), "line 1: 258 columns, want 1+256"},
		"label 10":         {digit("10", "0"), "label 10"},
		"label 2.5":        {digit("2.5", "0"), "label 2.5"},
		"grey 2":           {digit("3", "2"), "value 2 outside"},
		"infinite":         {digit("3", "inf"), "not a number"},
		"NaN":              {digit("3", "nan"), "not a number"},
		"huge":             {digit("3", "1e999"), "not a number"},
		"hexadecimal":      {digit("3", "0x1p-2"), "not a number"},
		"HTML":             {"<!DOCTYPE html>\n", "line 1: 2 columns"},
		"one endless line": {strings.Repeat("1 ", 1<<15), "line 1 is too long"},
		"too many lines":   {good + good + good, "more than 2 lines"},
	})
}

func FuzzReadUSPS(f *testing.F) {
	f.Add([]byte(digit("6.0000", "-1.0000") + digit("9", "0.25")))
	f.Add([]byte("1 2 3\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := ReadUSPS(bytes.NewReader(in), 1000)
		if err != nil {
			wantBad(t, err)
			return
		}
		if len(got.Pixels) != USPSPixels*len(got.Labels) {
			t.Errorf("%d pixels for %d labels", len(got.Pixels), len(got.Labels))
		}
		for _, v := range got.Pixels {
			if !(v >= -1 && v <= 1) {
				t.Fatalf("grey value %v", v)
			}
		}
	})
}
