// Package train moves the parameters of networks.
package train
