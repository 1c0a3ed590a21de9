package gallery

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"unicode/utf8"

	"coupling/lab"
)

// A Claim is a claim as text.
type Claim struct {
	What     string      `json:"what"`
	Source   string      `json:"source"`
	Expected string      `json:"expected"`
	Got      string      `json:"got"`
	Verdict  lab.Verdict `json:"verdict"`
	Why      string      `json:"why"`
	Null     string      `json:"null"` // the garbage on which the claim fails
}

// Claims returns claims as text.
func Claims(list []lab.Claim) (out []Claim) {
	for _, c := range list {
		why := c.Why
		if c.Verdict() == lab.Skipped {
			why = c.SkipReason
		}
		got := fmt.Sprintf("%.4g", c.Got)
		if c.Verdict() == lab.Skipped && math.IsNaN(c.Got) {
			got = "–" // nothing was measured
		}
		out = append(out, Claim{c.What, c.Source, c.Expected(), got, c.Verdict(), why, c.Null.Name})
	}
	return out
}

// ClaimTable returns claims as a table.
func ClaimTable(claims []Claim) lab.Table {
	t := lab.Table{Header: []string{"", "claim", "source", "expected", "here", "why", "fails on"}}
	for _, c := range claims {
		t.Rows = append(t.Rows, []string{string(c.Verdict), c.What, c.Source, c.Expected, c.Got, c.Why, c.Null})
	}
	return t
}

// Count counts the verdicts and names the claims that were asked and do not hold.
func Count(claims []Claim) (score lab.Score, differ []string) {
	score = lab.Score{}
	for _, c := range claims {
		if score[c.Verdict]++; c.Verdict == lab.Differs || c.Verdict == lab.Nothing {
			differ = append(differ, c.What)
		}
	}
	return score, differ
}

// HTML returns a table, without its caption, for a page of the gallery or a notebook. Rows after the first most are
// only counted; 0: all are shown. A cell that holds a verdict has its class.
func HTML(t lab.Table, most int) template.HTML {
	var b strings.Builder
	b.WriteString(`<table class="dataframe"><thead><tr>`)
	for _, h := range t.Header {
		fmt.Fprintf(&b, `<th>%s</th>`, html.EscapeString(h))
	}
	b.WriteString("</tr></thead><tbody>")
	for i, row := range t.Rows {
		if i == most && most > 0 {
			fmt.Fprintf(&b, `<tr><td colspan="%d">… %d more</td></tr>`, max(1, len(t.Header)), len(t.Rows)-most)
			break
		}
		b.WriteString("<tr>")
		for _, c := range row {
			fmt.Fprintf(&b, "<td%s>%s</td>", attributes(c), html.EscapeString(c))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String()) // every text in it is escaped
}

func class(verdict string) string { return strings.ReplaceAll(verdict, " ", "-") }

// attributes keep numbers and names in one line, where sentences may break, and colour verdicts.
func attributes(cell string) (text string) {
	switch v := lab.Verdict(cell); v {
	case lab.Holds, lab.Differs, lab.Skipped, lab.Nothing:
		text = fmt.Sprintf(` class="%s"`, class(cell))
	}
	if utf8.RuneCountInString(cell) <= 24 {
		text += ` style="white-space:nowrap"`
	}
	return text
}
