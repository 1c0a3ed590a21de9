// Package admmtest draws random problems of distributed transport, of every kind, for tests.
//
//	prob := admmtest.Problem(rng, admmtest.Kinds()[0])
package admmtest
