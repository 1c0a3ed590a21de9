// Package data provides the image data sets of the papers, as [Images], and
// the transformations that the papers apply to them.
//
//	MNIST, FashionMNIST, USPS, CIFAR10   found or downloaded, checked, loaded
//	CelebA                               read from a folder, chosen by split and attribute
//	Folder                               a user's own pictures, of any common format
//	ReadPoints                           a matrix from CSV, other text or NPY
//	Images                               N×C×H×W values with labels; rows and a matrix for package ot
//	Resize, Scale, CenterCrop, Grey …    new images, with the range and labels kept
//	Pick, Partition, Slice …             parts of a set, drawn by an explicit *rand.Rand
//	Save, Load                           NPY files that are refused unless they were written together
//	Status                               where each data set is, and the line that gets it
//	Choose                               official files or samples, for programs that may use either
//
// Packages below it can be imported alone: format (file formats), batch (indices
// of training batches), synth (synthetic distributions), tensors (Images as
// gorgonia's tensors). Package sample carries small samples in the program.
//
// # A worked example
//
// SCONES transports USPS digits to MNIST digits at 16×16. The functions [USPS]
// and [MNIST] return the test images. USPS has 16×16 values in [-1, 1]: Scale(0, 1)
// gives them the range of MNIST. MNIST has 28×28 pixels: Resize(16, 16, Nearest)
// gives them the size of USPS. Pick(rng, 500) draws 500 images, and Mat returns
// them as the rows of a 500×256 matrix for package ot.
//
// # Conventions
//
// Pixels are in N×C×H×W row-major order; channels are red, green, blue. Values
// lie in [Lo, Hi], black to white, which every transformation keeps up to date;
// loaders return the range that the files state: [0, 1] for bytes, [-1, 1] for
// USPS. A transformation returns new images and does not change its receiver;
// labels, classes and names are shared. Pixel centres are at half-integers, see
// [Filter]. No result depends on the number of processors.
//
// A file is used only when all of it has been read and its SHA-256 is the published one; otherwise
// the error wraps [ErrCorrupt] and names the file. For a data set that is not found and cannot be
// downloaded, the error wraps [ErrMissing], lists the places that were searched, and names what to
// do. No loader returns fewer images than asked for: see [Origin].
//
// Sources: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten
// digits" (1998); H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST" (2017);
// Y. LeCun et al., "Backpropagation applied to handwritten zip code
// recognition" (1989), in the files of T. Hastie, R. Tibshirani, J. Friedman,
// "The elements of statistical learning"; A. Krizhevsky, "Learning multiple
// layers of features from tiny images" (2009); Z. Liu et al., "Deep learning
// face attributes in the wild" (2015). Preparation as in M. Daniels, T. Maunu,
// P. Hand, "Score-based generative neural networks for large-scale optimal
// transport" (2021), appendix tables 4 and 5, and T. Cao et al., "Don't generate
// me: training differentially private generative models with Sinkhorn
// divergence" (2021).
package data
