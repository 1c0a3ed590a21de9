package format

import (
	"io"
	"slices"
	"strconv"
	"strings"
)

const celebaLongest = 1 << 12 // bytes in a line; official lines have at most 620

// CelebAList is one of CelebA's lists of images.
type CelebAList struct {
	Names  []string  // the attributes, e.g. "Male"; nil in list_eval_partition.txt
	Files  []string  // e.g. "000001.jpg"
	Values [][]uint8 // a row for each file: 1 for an attribute that it has; in list_eval_partition.txt its part
}

// ReadCelebAAttributes reads list_attr_celeba.txt: a line with the number of
// images, a line with the names of the attributes, then for each image its file
// name and a 1 or -1 for each attribute. It refuses more than limit images, a
// count that is not that of the rows, and file names that are not plain names.
func ReadCelebAAttributes(r io.Reader, limit int) (*CelebAList, error) {
	list, count := &CelebAList{}, 0
	err := eachLine(r, celebaLongest, func(number int, line string) error {
		switch number {
		case 1:
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if count = n; err != nil || count < 1 || count > limit {
				return badf("CelebA attributes: line 1 is %s: want the number of images, 1 to %d", clip(line), limit)
			}
			return nil
		case 2:
			if list.Names = strings.Fields(line); len(list.Names) == 0 {
				return badf("CelebA attributes: line 2 names no attributes")
			}
			return nil
		}
		return list.add(line, number, limit, len(list.Names), "-1", "1")
	})
	if err == nil && (len(list.Files) == 0 || len(list.Files) != count) {
		err = badf("CelebA attributes: truncated: %d rows, line 1 says %d", len(list.Files), count)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ReadCelebAPartition reads list_eval_partition.txt: on each line a file name
// and its part, 0 for training, 1 for validation and 2 for test. It refuses more
// than limit lines.
func ReadCelebAPartition(r io.Reader, limit int) (*CelebAList, error) {
	list := &CelebAList{}
	err := eachLine(r, celebaLongest, func(number int, line string) error {
		return list.add(line, number, limit, 1, "0", "1", "2")
	})
	if err == nil && len(list.Files) == 0 {
		err = badf("CelebA partition: no lines")
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// add appends a row of some columns; a value is its place among those that are allowed.
func (a *CelebAList) add(line string, number, limit, columns int, allowed ...string) error {
	fields := strings.Fields(line)
	switch {
	case len(a.Files) == limit:
		return badf("CelebA: line %d: more than %d images", number, limit)
	case len(fields) != 1+columns:
		return badf("CelebA: line %d: %d columns, want 1+%d", number, len(fields), columns)
	case !plainName(fields[0]):
		return badf("CelebA: line %d: %s is not a plain file name", number, clip(fields[0]))
	}
	row := make([]uint8, columns)
	for j, field := range fields[1:] {
		k := slices.Index(allowed, field)
		if k < 0 {
			return badf("CelebA: line %d, column %d: %s: want one of %s", number, j+2, clip(field),
				strings.Join(allowed, ", "))
		}
		row[j] = uint8(k)
	}
	a.Files, a.Values = append(a.Files, strings.Clone(fields[0])), append(a.Values, row)
	return nil
}

// plainName reports whether a name from a list may be joined to a folder: letters, digits, points,
// dashes and underscores, not starting with a point.
func plainName(name string) bool {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"
	return name != "" && name[0] != '.' && strings.Trim(name, plain) == ""
}
