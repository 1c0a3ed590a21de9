package fetch

import (
	"context"
	"errors"
	"os"
	"time"
)

var errBusy = errors.New("locked by another process")

// lock waits for the exclusive use of the file at path, which it creates. The
// operating system gives the lock back when the process dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		unlock, err := tryLock(path)
		if !errors.Is(err, errBusy) {
			return unlock, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func tryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		file.Close()
		return nil, err
	}
	// The owner before us may have removed the file between our opening and our
	// locking it; then others lock a new one, and this lock is worth nothing.
	ours, err1 := file.Stat()
	there, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(ours, there) {
		file.Close()
		return nil, errBusy
	}
	return func() {
		os.Remove(path) // fails on Windows while the file is open; it stays, unlocked
		file.Close()
	}, nil
}
