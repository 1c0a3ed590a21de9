// Package raster brings matrices and small images to the dots of a canvas, fast and without smearing.
//
// [Resample] pools a matrix of any size into the bins of a picture in one pass: averaged over the area of each bin,
// so that mass is kept, or by the maximum. [Draw] places an image so that its pixels keep sharp edges: on the dots of
// a bitmap, and on paper repeated a whole number of times.
package raster
