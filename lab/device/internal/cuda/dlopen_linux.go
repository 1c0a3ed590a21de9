//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"errors"
	"fmt"

	"github.com/ebitengine/purego"
)

// library is an opened shared library.
type library struct {
	handle uintptr
	path   string
}

// openLibrary opens the first of the names that can be.
func openLibrary(names []string) (*library, error) {
	var failed []error
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return &library{handle: h, path: name}, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// symbol is the address of a function.
func (l *library) symbol(name string) (uintptr, error) {
	p, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("%s has no %s: %w", l.path, name, err)
	}
	return p, nil
}

// call calls a C function of integers and pointers. Pointers that are converted in the call's arguments stay valid
// until it returns.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(r)
}
