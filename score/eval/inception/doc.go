// Package inception is the Inception-v3 whose 2,048 features published FIDs are taken in. Its weights are not part of
// this module and are never downloaded: the user names a file.
//
//	f, err := inception.Open("inception.safetensors", dev)
//	r, err := distance.Between(ctx, f, generated, real)     // r.Frechet is a FID
//
// # The file
//
// It holds the weights of pytorch-fid, pt_inception-2015-12-05-6726825d.pth (ported from
// TensorFlow's graph of 2015-12-05; the digits are the beginning of that file's SHA-256), as
// safetensors. With torch and safetensors installed:
//
//	import torch; from safetensors.torch import save_file
//	w = torch.load("pt_inception-2015-12-05-6726825d.pth", map_location="cpu")
//	save_file({k: v.contiguous() for k, v in w.items()}, "inception.safetensors")
//
// All of the names Conv2d_….conv.weight, Mixed_….branch….bn.{weight, bias, running_mean,
// running_var} must be there with their shapes, and fc.weight with 1,008 rows, by which these
// weights differ from torchvision's own (1,000), which have the same names and give other numbers.
// Other names than fc.bias and …num_batches_tracked are refused, and so are values that are not
// finite and variances that are negative. The name of the features holds the beginning of the
// SHA-256 of all weights in the order of their names, which does not depend on how they were
// written to the file. A file whose widths are all divided by 2, 4, 8 or 16 is taken too, for
// tests, and its name says so: distances in its features are no FIDs. [Chosen] is the file that the
// user names for figures, by --inception or COUPLING_INCEPTION.
//
// # What is computed
//
// Images of one channel are repeated to three; all are brought to bytes, resampled to 299×299 (bilinear, half-pixel
// centres, no antialiasing) and to [−1, 1]. Means in the mixed blocks leave out the padding, and the last block has a
// maximum where others have a mean: this is what the weights were trained with, and differs from torchvision's network.
// Batch normalisations (ε = 0.001) are folded into the convolutions in float64.
//
// TensorFlow's own graph, which many papers used, resamples by another rule (no half pixel), so its numbers differ a
// little from these. Values are rounded to bytes before, as most tools read them from files.
//
// Cost: 5.7 billion multiply-adds for an image, a third of a second on two cores, milliseconds on a GPU.
//
// Sources: Szegedy et al. (2016), "Rethinking the Inception architecture"; Heusel et al. (2017); M. Seitzer,
// pytorch-fid; Ioffe and Szegedy (2015) for batch normalisation.
package inception
