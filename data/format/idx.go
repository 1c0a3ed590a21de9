package format

import (
	"encoding/binary"
	"io"
)

// IDX is an array of bytes in row-major order, as MNIST's files hold it.
type IDX struct {
	Dims []int  // e.g. [60000 28 28]
	Data []byte // product of Dims
}

// ReadIDX reads an unpacked IDX file of unsigned bytes: two zero bytes, the
// type 0x08, the number of dimensions (1 to 8), each dimension as a big-endian
// uint32, then the values. It refuses more than limit values, and a file that
// does not end where its header says.
func ReadIDX(r io.Reader, limit int64) (*IDX, error) {
	magic, err := readN(r, 4, "IDX magic number")
	if err != nil {
		return nil, err
	}
	rank := int(magic[3])
	if magic[0] != 0 || magic[1] != 0 || magic[2] != 0x08 || rank < 1 || rank > 8 {
		return nil, badf("IDX magic number %#08x: want 0x0000080n, unsigned bytes of n = 1 to 8 dimensions",
			binary.BigEndian.Uint32(magic))
	}
	sizes, err := readN(r, int64(4*rank), "IDX dimensions")
	if err != nil {
		return nil, err
	}
	dims := make([]int, rank)
	for i := range dims {
		dims[i] = int(binary.BigEndian.Uint32(sizes[4*i:]))
	}
	n, err := product(dims, limit)
	if err != nil {
		return nil, err
	}
	data, err := readN(r, n, "IDX values")
	if err != nil {
		return nil, err
	}
	if err := expectEnd(r); err != nil {
		return nil, err
	}
	return &IDX{Dims: dims, Data: data}, nil
}
