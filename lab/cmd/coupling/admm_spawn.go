package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"coupling/dp/admm"
	"coupling/dp/admm/files"
)

// spawned are the nodes of a run as processes of this machine.
type spawned struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// mostDeaths is how often a node is started again after it was killed.
const mostDeaths = 20

// spawn starts a process for each node. A node that is killed by a signal is started again; one that gives up ends the run.
func spawn(ctx context.Context, a *app, c admmRunCmd, ids []admm.ID, giveUp func()) (*spawned, error) {
	program, err := exec.LookPath(os.Args[0])
	if err != nil {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	for _, folder := range []string{"state", "amounts"} { // of another run
		if c.Resume {
			break
		}
		if err := os.RemoveAll(filepath.Join(c.Dir, folder)); err != nil {
			return nil, err
		}
	}
	s := &spawned{}
	for _, id := range ids {
		if isDone(c.Dir, id) {
			continue
		}
		s.wg.Go(func() {
			if err := keepAlive(ctx, a, program, c, id); err != nil {
				s.mu.Lock()
				s.errs = append(s.errs, err)
				s.mu.Unlock()
				giveUp()
			}
		})
	}
	return s, nil
}

func (s *spawned) wait() { s.wg.Wait() }

// failed returns why nodes gave up.
func (s *spawned) failed() error {
	s.wg.Wait()
	return errors.Join(s.errs...)
}

// isDone reports whether a node has written its amounts, the last that it does.
func isDone(dir string, id admm.ID) bool {
	_, err := os.Stat(amountsPath(dir, id))
	return err == nil
}

// keepAlive runs one node until it is done.
func keepAlive(ctx context.Context, a *app, program string, c admmRunCmd, id admm.ID) error {
	for range mostDeaths {
		url, err := os.ReadFile(c.join("url"))
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, program, "admm", "node", files.NodePath(c.Dir, id), "--join", string(url), "--token-file", c.join("token"), "--ca", c.join("ca.pem"),
			"--state", statePath(c.Dir, id), "--ledger", ledgerPath(c.Dir, id), "--out", amountsPath(c.Dir, id), "--patience", c.Patience.String(), "--tied")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // a node is one thread of thought
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if _, err := cmd.StdinPipe(); err != nil { // which ends when this process does, however it dies
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		pid := statePath(c.Dir, id) + ".pid"
		if err := files.Replace(pid, []byte(strconv.Itoa(cmd.Process.Pid)+"\n")); err != nil {
			return err
		}
		err = cmd.Wait()
		switch {
		case err == nil:
			return nil
		case isDone(c.Dir, id): // killed when all was done
			return nil
		case ctx.Err() != nil: // it was told to end
			return nil //nolint:nilerr // see above
		case cmd.ProcessState.ExitCode() >= 0:
			return fmt.Errorf("%v: %w: %s", id, err, bytes.TrimSpace(stderr.Bytes()))
		}
		fmt.Fprintf(a.err, "%v died (%v) and is started again\n", id, err)
	}
	return fmt.Errorf("%v died %d times", id, mostDeaths)
}
