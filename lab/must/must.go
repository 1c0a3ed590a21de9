// Package must is for tests and benchmarks: it stops them at an error that they do not expect.
//
//	dev := must.Get(device.Open("cpu"))
//	must.Do(dev.Close())
//
// It panics with the error: the test fails and the stack shows the line. Programs return their errors.
package must

// Get returns v, and panics if err is not nil.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Get2 returns a and b, and panics if err is not nil.
func Get2[A, B any](a A, b B, err error) (A, B) {
	Do(err)
	return a, b
}

// Do panics if err is not nil.
func Do(err error) {
	if err != nil {
		panic(err)
	}
}

// Err returns the error of a call that should have failed.
func Err[T any](_ T, err error) error { return err }
