// Package eval measures the quality of a generated data set.
//
//	Classifier  trained on synthetic images, tested on real ones: networks, and ridge regression on oriented gradients
//	distance    Fréchet distance, KID, precision and recall, density and coverage, in features of a LeNet trained here
//	inception   or of Inception-v3, from a file that the user names
//	membership  an attack: can one tell whom the generator was trained on?
//	neighbour   exact nearest neighbours, for all of these
//
// # A worked example
//
// A generator of digits wrote 60,000 images with labels to a file. Their utility is the accuracy,
// on MNIST's test images, of classifiers that were trained without real images:
//
//	synthetic, err := data.Load("digits.npy")
//	real, err := data.MNIST(ctx, data.From{}, data.Test)
//	for _, kind := range []eval.Kind{eval.Logistic, eval.MLP, eval.CNN} {
//		r, err := eval.Classifier{Kind: kind, Protocol: eval.Code}.Evaluate(ctx, dev, synthetic, real, rng)
//		…
//	}
//
// Compare it with the accuracy of the same classifiers trained on real images, which is an upper
// bound in practice, and which BenchmarkMNIST measures.
//
// # Three protocols
//
// Papers differ in how they train these classifiers, and numbers of different protocols cannot be
// compared. Code is the protocol of DP-Sinkhorn's published code, Paper that of its text, and Quick
// is ours, for two cores. A Run reports whether its criterion ended it. Intervals cover only the test set; repeat the
// experiment (five times in the paper) to see the spread between generators and trainings.
//
// # Conventions
//
// Images are data.Images with labels, scaled for networks so that Lo is −1 and Hi is 1. Networks
// are float32, on any device; the same seed and kind of device give the same bits. Randomness
// (initial weights, hold-out, order, dropout) comes from the *rand.Rand.
//
// Sources: Cao et al. (2021), "Don't generate me", appendix D.2, and nv-tlabs/DP-Sinkhorn_code; LeCun et al. (1998);
// Wilson (1927).
package eval
