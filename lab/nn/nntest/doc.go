// Package nntest holds layers to their contract.
package nntest
