package data

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// labelled returns the pictures that labels.csv names, in the order of their names. A line has the path of a file
// within the folder, or its last part where no other picture has that, and a class; a first line whose file has no
// extension is a header. A picture may have one line: twice the same image would double what one image changes.
func (f Folder) labelled(t tree) (*Pictures, error) {
	path := filepath.Join(t.dir, labelsFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.FieldsPerRecord, r.TrimLeadingSpace = 2, true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, corrupt(path, "%v: want lines \"file,class\"", err)
	}
	if len(rows) > 0 && rows[0][0] != "" && filepath.Ext(rows[0][0]) == "" {
		rows = rows[1:]
	}
	known := t.names()
	class, p := map[string]string{}, &Pictures{Name: t.dir}
	var unknown, twice []string
	for _, row := range rows {
		name := known[row[0]]
		_, again := class[name]
		switch p.Classes = append(p.Classes, row[1]); {
		case row[1] == "":
			return nil, corrupt(path, "%q has no class", row[0])
		case row[0] == "":
		case name == "":
			unknown = append(unknown, row[0])
		case again:
			twice = append(twice, row[0])
		default:
			class[name] = row[1]
		}
	}
	switch {
	case len(unknown) > 0:
		return nil, corrupt(path, "%s", some("no such picture, or several of that name: ", unknown))
	case len(twice) > 0:
		return nil, corrupt(path, "%s", some("in two lines: ", twice))
	}
	slices.Sort(p.Classes)
	p.Classes = slices.Compact(p.Classes)
	for _, name := range t.pictures {
		if c, ok := class[name]; ok {
			l, _ := slices.BinarySearch(p.Classes, c)
			p.Files, p.Labels = append(p.Files, filepath.Join(t.dir, name)), append(p.Labels, l)
		}
	}
	if left := len(t.pictures) - len(p.Files); left > 0 {
		f.note("left out: %d pictures that %s does not name", left, labelsFile)
	}
	if len(p.Files) == 0 {
		return nil, missing(t.dir, "%s names no picture", labelsFile)
	}
	return p, nil
}

// names are the pictures by their paths, with slashes, and by the last parts of these, where one picture has it.
func (t tree) names() map[string]string {
	known, times := map[string]string{}, map[string]int{}
	for _, name := range t.pictures {
		times[filepath.Base(name)]++
	}
	for _, name := range t.pictures {
		if times[filepath.Base(name)] == 1 {
			known[filepath.Base(name)] = name
		}
	}
	for _, name := range t.pictures {
		known[filepath.ToSlash(name)] = name
	}
	return known
}

// mostNamed is the largest number of files that an error names.
const mostNamed = 100

// some is a list of names after a title.
func some(title string, names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s%s and %d more", title, strings.Join(names[:mostNamed], ", "), more)
	}
	return title + strings.Join(names, ", ")
}
