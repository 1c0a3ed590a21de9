// Package conv is convolutions as matrix products, on arrays of a device, without parameters or passes.
//
// With weight W, Out×In×kh×kw, and a window,
//
//	Apply    y  = W ⋆ x         N×In×H×W to N×Out×OH×OW
//	Input    dx = Wᵀ dy         its transpose in x, which is the transposed convolution from Out to In
//	Weight   dW += Σ_n dy_n ⋆ x_n    its transpose in W
//	Squares  s_n += |dy_n ⋆ x_n|²    the squared norm of one example's part of that
//
// There are three ways. A window that is as large as the image meets it once: one product does all examples. Where
// there are fewer channels behind the window than before it, pixels are multiplied first and their patches added up;
// otherwise patches are unfolded first and multiplied. The last two hold the patches of a few examples at a time
// (tiles), so that on a CPU they stay in its caches.
package conv
