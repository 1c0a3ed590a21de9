// Package sample carries small samples of four image data sets inside the program, so that figures,
// notebooks and tests draw on real images without the official files and without a network:
//
//	mnist          6,000 training and 2,000 test images   1×28×28
//	fashion-mnist  3,000 and 1,000                         1×28×28
//	usps           2,000 and 1,000                         1×16×16
//	cifar10        1,200 and 300                           3×32×32
//
// A program that imports this package grows by 6.6 MB. Package data does not import it: a program
// that wants samples passes [From] to [data.MNIST] and its like. Figures let [data.Choose] decide,
// keep the [data.Origin] among a cell's parameters, and show [Note] on the picture:
//
//	params{Data: data.Choose("mnist")}                               // before the cell runs
//	images, err := data.MNIST(ctx, sample.From(p.Data), data.Train)  // in the cell
//	badge := sample.Note(p.Data, "mnist")                            // on the picture
//
// # Provenance
//
// The images of a split are the first n/10 of each class in the official file, in its order; their values
// are those that the loaders of package data return. Pictures are PNG sheets, 50 images to a line, that any viewer
// shows; labels stand in text files in the same order. USPS has 2001 grey values, three decimals in [-1, 1], and so
// PNG of 16 bits: a pixel is 32·(1000 + 1000 v).
//
// Made by go generate ./data/sample from the files with these SHA-256 sums, unpacked:
//
//	ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  mnist/train-images-idx3-ubyte
//	65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  mnist/train-labels-idx1-ubyte
//	0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  mnist/t10k-images-idx3-ubyte
//	ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  mnist/t10k-labels-idx1-ubyte
//	c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888  fashion-mnist/train-images-idx3-ubyte
//	bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9  fashion-mnist/train-labels-idx1-ubyte
//	5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b  fashion-mnist/t10k-images-idx3-ubyte
//	0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34  fashion-mnist/t10k-labels-idx1-ubyte
//	abc9f5c75b997cabe66b5d01727d5a681c69298e1641a8d37b55433a52129dc0  usps/zip.train
//	6bde17b4f1cd68e0630cd2751d6495b5795d9165ab2dc4a0be8b7002b732f4cc  usps/zip.test
//	df2cd4249497688f2e79e177e951b7e105f152c11e65dcd064ffc772db18ec27  cifar10-subset: data_batch_1.bin
//	86b2aa142825a8fd820deaf324912d7baee666ceb7fba82b6a5bae09a92bacad  cifar10-subset: test_batch.bin
//
// The images of CIFAR-10 come from a subset of 10,000 + 2,000 images whose pixels were decoded from JPEG copies: they
// look like the official ones and are not equal to them bit by bit. SHA256SUMS lists the sums of the files here; a file
// with another sum is refused by name.
//
// # Licences
//
//   - MNIST: Y. LeCun, C. Cortes, C. Burges; CC BY-SA 3.0.
//   - Fashion-MNIST: Zalando SE, MIT licence; Copyright © 2017 Zalando SE, https://tech.zalando.com.
//   - USPS: scans by the U.S. Postal Service and AT&T (LeCun et al. 1989), as distributed with T.
//     Hastie, R. Tibshirani,
//     J. Friedman, "The elements of statistical learning", for research.
//   - CIFAR-10: A. Krizhevsky, V. Nair, G. Hinton, for research; cite A. Krizhevsky, "Learning multiple layers of
//     features from tiny images" (2009).
package sample

//go:generate go test -run TestGenerate -update
