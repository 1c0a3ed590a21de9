package format

import (
	"io"
	"strings"
)

// USPSPixels is the number of grey values of a USPS digit: 16 rows of 16.
const USPSPixels = 256

// USPS holds the digits of one USPS file.
type USPS struct {
	Labels []uint8   // 0 to 9
	Pixels []float32 // len(Labels)×256 in row-major order, each in [-1, 1]
}

// ReadUSPS reads an unpacked zip.train or zip.test: on each line a label from
// 0 to 9 and 256 decimal numbers in [-1, 1], separated by blanks. It refuses
// more than limit lines.
func ReadUSPS(r io.Reader, limit int) (*USPS, error) {
	const longest = 1 << 14 // bytes; official lines have at most 2100
	digits := &USPS{}
	err := eachLine(r, longest, func(number int, line string) error {
		if len(digits.Labels) == limit {
			return badf("USPS: more than %d lines", limit)
		}
		return digits.add(strings.Fields(line), number)
	})
	if err == nil && len(digits.Labels) == 0 {
		err = badf("USPS: no lines")
	}
	if err != nil {
		return nil, err
	}
	return digits, nil
}

func (u *USPS) add(fields []string, number int) error {
	if len(fields) != 1+USPSPixels {
		return badf("USPS: line %d: %d columns, want 1+%d", number, len(fields), USPSPixels)
	}
	for column, field := range fields {
		v, ok := decimal(field)
		switch {
		case !ok:
			return badf("USPS: line %d, column %d: %s is not a number", number, column+1, clip(field))
		case column == 0:
			if v < 0 || v > 9 || v != float64(int(v)) {
				return badf("USPS: line %d: label %v: want a digit", number, v)
			}
			u.Labels = append(u.Labels, uint8(v))
		case v < -1 || v > 1:
			return badf("USPS: line %d, column %d: value %v outside [-1, 1]", number, column+1, v)
		default:
			u.Pixels = append(u.Pixels, float32(v))
		}
	}
	return nil
}
