// Package synth samples the synthetic distributions on which optimal transport
// and score-based methods are tried: random covariances of Gaussians, the
// Swiss roll and other shapes in the plane. Every function takes the generator
// of randomness as its first argument and returns points as the rows of a
// matrix.
//
// # A worked example
//
// SCONES measures how well a plan between Gaussians is learnt, on pairs of
// covariances with eigenvalues uniform in [1, 10] and eigenvectors from the
// Haar measure, in dimensions 2 to 256. [RandomCovariance] draws one of them;
// package ot/gaussian has the exact plan of two in closed form, and draws the
// points to learn from.
//
// # Conventions
//
// Points are independent and identically distributed: where scikit-learn puts
// the points of its moons and circles at equal steps along the curve and
// shuffles them, these functions draw the place along the curve uniformly.
// Noise is the standard deviation of an isotropic Gaussian that is added to
// each point; zero leaves points exactly on the curve. n = 0 gives an empty matrix.
//
// Sources: M. Daniels, T. Maunu, P. Hand, "Score-based generative neural
// networks for large-scale optimal transport" (2021), section 5 and its public
// code, for Gaussian pairs and the Swiss roll; F. Mezzadri, "How to generate
// random matrices from the classical compact groups", Notices of the AMS 54
// (2007), for the Haar measure; scikit-learn's make_swiss_roll, make_moons and
// make_circles; W. Grathwohl et al., "FFJORD" (2019) for eight Gaussians, the
// checkerboard and the spirals.
package synth
