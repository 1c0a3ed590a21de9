// Package tour holds the figures that show what the project does, on real data,
// before any paper is opened.
package tour
