package format

import (
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	celebaLongest    = 1 << 12 // bytes in a line; official lines have at most 620
	celebaAttributes = 64      // bits in a row; CelebA has 40 attributes
)

// CelebAAttributes is the content of list_attr_celeba.txt.
type CelebAAttributes struct {
	Names []string // attributes, e.g. "Male"
	Files []string // e.g. "000001.jpg"
	bits  []uint64 // a row for each file; bit j: has attribute j
}

// Has reports whether file i has attribute j.
func (a *CelebAAttributes) Has(i, j int) bool { return a.bits[i]>>j&1 == 1 }

// Index returns the position of the named attribute, -1 when there is none.
func (a *CelebAAttributes) Index(name string) int { return slices.Index(a.Names, name) }

// ReadCelebAAttributes reads list_attr_celeba.txt: a line with the number of
// images, a line with the names of the attributes (at most 64), then for each
// image its file name and a 1 or -1 for each attribute. It refuses more than
// limit images, a count that is not that of the rows, and file names that are
// not plain names.
func ReadCelebAAttributes(r io.Reader, limit int) (*CelebAAttributes, error) {
	list, count := &CelebAAttributes{}, 0
	err := eachLine(r, celebaLongest, func(number int, line string) (err error) {
		switch {
		case number == 1:
			count, err = celebaCount(line, limit)
		case number == 2:
			list.Names = strings.Fields(line)
			err = list.checkNames()
		case len(list.Files) == count:
			err = badf("CelebA attributes: more rows than the %d of line 1", count)
		default:
			err = list.add(line, number)
		}
		return err
	})
	switch {
	case err != nil:
	case count == 0:
		_, err = celebaCount("", limit)
	case list.Names == nil:
		err = list.checkNames()
	case len(list.Files) != count:
		err = badf("CelebA attributes: truncated: %d rows, line 1 says %d", len(list.Files), count)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

func celebaCount(line string, limit int) (int, error) {
	count, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || count < 1 || count > limit {
		return 0, badf("CelebA attributes: line 1 is %s: want the number of images, 1 to %d", clip(line), limit)
	}
	return count, nil
}

func (a *CelebAAttributes) checkNames() error {
	if n := len(a.Names); n < 1 || n > celebaAttributes {
		return badf("CelebA attributes: line 2 names %d attributes, want 1 to %d", n, celebaAttributes)
	}
	sorted := slices.Sorted(slices.Values(a.Names))
	if len(slices.Compact(sorted)) != len(a.Names) {
		return badf("CelebA attributes: line 2 names an attribute twice")
	}
	return nil
}

func (a *CelebAAttributes) add(line string, number int) error {
	var row uint64
	column := 0
	for field := range strings.FieldsSeq(line) {
		switch {
		case column == 0:
			if !plainName(field) {
				return badf("CelebA attributes: line %d: %s is not a plain file name", number, clip(field))
			}
			a.Files = append(a.Files, strings.Clone(field))
		case column > len(a.Names):
			return badf("CelebA attributes: line %d: more than 1+%d columns", number, len(a.Names))
		case field == "1":
			row |= 1 << (column - 1)
		case field != "-1":
			return badf("CelebA attributes: line %d, column %d: %s: want 1 or -1", number, column+1, clip(field))
		}
		column++
	}
	if column != 1+len(a.Names) {
		return badf("CelebA attributes: line %d: %d columns, want 1+%d", number, column, len(a.Names))
	}
	a.bits = append(a.bits, row)
	return nil
}

// CelebAPartition is the content of list_eval_partition.txt.
type CelebAPartition struct {
	Files []string
	Parts []uint8 // 0 training, 1 validation, 2 test
}

// ReadCelebAPartition reads list_eval_partition.txt: on each line a file name
// and 0, 1 or 2. It refuses more than limit lines.
func ReadCelebAPartition(r io.Reader, limit int) (*CelebAPartition, error) {
	list := &CelebAPartition{}
	err := eachLine(r, celebaLongest, func(number int, line string) error {
		fields := strings.Fields(line)
		switch {
		case len(list.Files) == limit:
			return badf("CelebA partition: more than %d lines", limit)
		case len(fields) != 2 || !plainName(fields[0]) || len(fields[1]) != 1 || fields[1] < "0" || fields[1] > "2":
			return badf("CelebA partition: line %d is %s: want a file name and 0, 1 or 2", number, clip(line))
		}
		list.Files = append(list.Files, strings.Clone(fields[0]))
		list.Parts = append(list.Parts, fields[1][0]-'0')
		return nil
	})
	if err == nil && len(list.Files) == 0 {
		err = badf("CelebA partition: no lines")
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// plainName says whether a name from a list may be joined to a folder: letters, digits, points, dashes and underscores, not
// starting with a point.
func plainName(name string) bool {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"
	return name != "" && name[0] != '.' && strings.Trim(name, plain) == ""
}
