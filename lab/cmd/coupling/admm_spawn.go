package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"coupling/dp/admm"
	"coupling/dp/admm/files"
	"coupling/lab"
)

// spawn starts a process for each node, and returns a function that waits for them and says which failed. It calls
// giveUp when one fails. The processes end with ctx, and with this process.
func spawn(ctx context.Context, c admmRunCmd, ids []admm.ID, giveUp func()) (wait func() error) {
	program := lab.Must(filepath.Abs(lab.Must(exec.LookPath(os.Args[0]))))
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			if errs[i] = runNode(ctx, program, c, id); errs[i] != nil {
				giveUp()
			}
		})
	}
	return func() error { wg.Wait(); return errors.Join(errs...) }
}

// runNode runs one node to its end.
func runNode(ctx context.Context, program string, c admmRunCmd, id admm.ID) error {
	cmd := exec.CommandContext(ctx, program, "admm", "node", files.NodePath(c.Dir, id), "--join", c.joinFile(),
		"--ledger", ledgerPath(c.Dir, id), "--tied")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // a node computes in one thread
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if _, err := cmd.StdinPipe(); err != nil { // which closes when this process ends, however it does
		return err
	}
	err := cmd.Run()
	switch {
	case err == nil || ctx.Err() != nil: // which tells it to end
		return nil //nolint:nilerr // it was asked to end
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() < 0:
		return fmt.Errorf("%v was killed (%w): coupling admm run %s --spawn --resume goes on", id, err,
			filepath.Clean(c.Dir))
	}
	return fmt.Errorf("%v: %w: %s", id, err, bytes.TrimSpace(stderr.Bytes()))
}
