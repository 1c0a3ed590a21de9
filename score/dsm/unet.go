package dsm

import "coupling/lab/nn/arch"

// DenoisingUNet is a Denoiser of images of C channels whose sides are multiples of 4, by arch.UNet. As in NCSNv2 (Song and Ermon
// 2020) the noise level is not an input, since an image of hundreds of pixels shows it. Of width 16 it learns digits in minutes on
// two cores.
func DenoisingUNet(mean []float64, spread float64, sigmas []float64, channels, width int) *Denoiser {
	return &Denoiser{Sigmas: sigmas, Mean: mean, Spread: spread, Body: arch.UNet(channels, channels, width)}
}
