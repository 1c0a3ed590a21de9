// Package feature turns images into the vectors between which distances of distributions are taken.
//
//	Pixels{}                    the values themselves, black 0 and white 1
//	Trained{Model: lenet}       what the last layer of a classifier trained here sees: with LeNet, FD-LeNet
//	inception.File{…}.Open(dev) the 2,048 features of the Inception-v3 of published FIDs, from a file that the user names;
//	                            in package inception
//
// # A worked example
//
// The Fréchet distance of synthetic digits in the features of a LeNet trained on MNIST:
//
//	lenet, err := eval.Classifier{Kind: eval.LeNet}.Fit(ctx, dev, train, rng)
//	f := feature.Trained{Model: lenet}
//	r, err := distance.Between(ctx, f, synthetic, test)
//	fmt.Println("FD-"+r.Features, r.Frechet)
//
// # Conventions
//
// A distance is named after its features and comparable only between the same weights, so the name of learnt features
// ends in a digest of the weights: LeNet-1a2b3c4d. "FID" is what the literature calls the distance in the features of
// one file of Inception weights; nothing else may be called so.
package feature
