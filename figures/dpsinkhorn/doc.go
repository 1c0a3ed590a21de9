// Package dpsinkhorn makes the figures about private generators of images: what DP-Sinkhorn (Cao et al. 2021) costs by the
// accounting that holds, and what its mechanism, the private semi-dual and DP-MERF make of the same ε.
package dpsinkhorn
