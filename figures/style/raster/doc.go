// Package raster brings matrices and small images to the dots of a canvas, fast and without smearing.
//
// [Resample] averages a matrix of any size over the area of each bin of a picture in one pass, so
// that mass is kept. [Draw] places an image so that its pixels keep sharp edges: on the dots of a
// bitmap, and on paper repeated a whole number of times.
package raster
