package paper

import (
	"slices"
	"strings"
)

// A run is a stretch of text in one face and at one height.
type run struct {
	text         string
	script       int // +1 superscript, −1 subscript, 0 on the line
	bold, italic bool
}

// scripts gives the plain rune of a Unicode superscript (+1) or subscript (−1).
func scripts(r rune) (plain rune, script int) {
	const (
		supers, superPlain = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+−=()ni"
		subs, subPlain     = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₖₙₘₚₜᵢⱼ", "0123456789+−=()aeoxknmptij"
	)
	if i := slices.Index([]rune(supers), r); i >= 0 {
		return []rune(superPlain)[i], 1
	}
	if i := slices.Index([]rune(subs), r); i >= 0 {
		return []rune(subPlain)[i], -1
	}
	return r, 0
}

// openers are the beginnings of markup; each runs to the matching brace.
func opener(s string, base run) (inner run, skip int) {
	switch {
	case strings.HasPrefix(s, "^{"):
		base.script = 1
	case strings.HasPrefix(s, "_{"):
		base.script = -1
	case strings.HasPrefix(s, `\b{`):
		base.bold = true
		return base, 3
	case strings.HasPrefix(s, `\i{`):
		base.italic = true
		return base, 3
	default:
		return base, 0
	}
	return base, 2
}

// parse splits a line into runs. Markup that is never closed is taken literally.
func parse(s string, base run) (runs []run) {
	emit := func(text string, r run) {
		if n := len(runs); n > 0 && runs[n-1].script == r.script && runs[n-1].bold == r.bold &&
			runs[n-1].italic == r.italic {
			runs[n-1].text += text
			return
		}
		r.text = text
		runs = append(runs, r)
	}
	for len(s) > 0 {
		if inner, skip := opener(s, base); skip > 0 {
			if end := closing(s[skip:]); end >= 0 {
				runs = append(runs, parse(s[skip:skip+end], inner)...)
				s = s[skip+end+1:]
				continue
			}
		}
		r := []rune(s[:min(len(s), 4)])[0]
		size := len(string(r))
		if s[0] >= 0x80 && r == '\uFFFD' {
			size = 1 // a byte that is not UTF-8
		}
		s = s[min(size, len(s)):]
		plain, script := scripts(r)
		piece := base
		if script != 0 {
			piece.script = script
		}
		emit(string(plain), piece)
	}
	return runs
}

// closing is the index in s of the brace that closes an already opened one, or −1.
func closing(s string) int {
	depth := 1
	for i, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
