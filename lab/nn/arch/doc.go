// Package arch is the networks of the papers, as struct literals of their sizes.
package arch
