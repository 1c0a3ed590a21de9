//go:build !(linux && (amd64 || arm64)) || nocuda

package cuda

import (
	"errors"
	"runtime"
)

type library struct{ path string }

func openLibrary([]string) (*library, error) {
	return nil, errors.New(
		"CUDA is opened on linux/amd64 and linux/arm64 only, and not with the build tag nocuda; this is " +
			runtime.GOOS + "/" + runtime.GOARCH)
}

func (*library) symbol(string) (uintptr, error) { return 0, errors.ErrUnsupported }

func call(uintptr, ...uintptr) int32 { return -1 }
