// Package format reads the files in which image data sets are published, and
// reads and writes NPY arrays. It handles bytes and text, not data sets: the
// names, places and checksums of files belong to package data.
//
//	IDX                  MNIST and Fashion-MNIST: big-endian header, then bytes
//	USPS                 one image a line: the label, then 256 numbers in [-1, 1]
//	CIFAR-10             records of a label byte and 3072 pixel bytes, plain or in a tar.gz
//	CelebA lists         attributes (a count, 40 names, rows of ±1) and the train/valid/test partition
//	NPY                  NumPy's arrays of float32, float64, int64 or uint8, C order, little-endian
//
// # A worked example
//
// The unpacked MNIST test labels begin with the bytes 00 00 08 01, a magic
// number that says "unsigned bytes, one dimension", then 00 00 27 10, that is
// 10000 labels, then the 10000 labels themselves and nothing more. [ReadIDX]
// returns Dims [10000] and the bytes. Had the file ended early, held one byte
// more, or claimed two dimensions of 2^31, ReadIDX would have returned an
// error that wraps [ErrFormat] and names what was expected.
//
// # Conventions
//
// Every reader takes an [io.Reader] and a limit, and
//
//   - reads to the end of the input and refuses anything left over;
//   - returns either the whole content or an error, never a part;
//   - trusts no count in a header: memory grows with the bytes that really
//     arrive, so that a 20-byte file that claims 2^31 images costs 20 bytes;
//   - returns an error that wraps ErrFormat when the content is wrong, and the
//     reader's own error when reading failed.
//
// Sources: http://yann.lecun.com/exdb/mnist/ (IDX),
// https://hastie.su.domains/ElemStatLearn/datasets/zip.info.txt (USPS),
// https://www.cs.toronto.edu/~kriz/cifar.html (CIFAR-10),
// https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (CelebA),
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (NPY).
package format
