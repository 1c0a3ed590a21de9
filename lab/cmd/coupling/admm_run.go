package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/files"
	"coupling/dp/admm/network"
	"coupling/lab"
)

type admmRunCmd struct {
	Dir    string `arg:""`
	Listen string `default:"127.0.0.1:0"`
	Resume bool
	Spawn  bool
	Out    string `placeholder:"FILE"`
}

func (c admmRunCmd) Run(a *app) error {
	lab.Check(usage(isNoPart(c.Out, c.Dir)))
	n := admmMust(files.ReadNetwork(c.Dir))
	g := admmMust(n.Graph())
	s, checkpoint := c.serve()
	defer s.Close()
	ctx, cancel := context.WithCancel(a.run.ctx)
	defer cancel()
	wait := func() error { return nil }
	if c.Spawn {
		wait = spawn(ctx, c, g.Nodes(), cancel)
	} else {
		ledger := ""
		if n.Rules.Rounds > 0 {
			ledger = " --ledger " + ledgerPath(c.Dir, admm.ID{})
		}
		a.note("listening on %s; each of %s joins with\n  coupling admm node %s --join %s%s\n", s.Access().URL,
			plural(g.Targets+g.Sources, "node"), files.NodePath(c.Dir, admm.ID{}), c.joinFile(), ledger)
	}
	began := time.Now()
	r, unheard, err := s.Run(ctx, network.Coordinator{
		Rules: n.Rules, Graph: g, Resume: checkpoint, Waiting: c.waiting(a),
		Save: func(m network.Checkpoint) error { return files.SaveJSON(c.checkpointFile(), m) },
	})
	if err != nil {
		cancel()
		if why := wait(); why != nil {
			err = why
		}
		return admmError(err)
	}
	a.printf("%s of %d nodes, %.3g s, residuals %.2g and %.2g\n", howEnded(r.Status.String(), n.Rules.Rounds, r.Rounds),
		g.Targets+g.Sources, time.Since(began).Seconds(), r.Primal, r.Dual)
	if len(unheard) > 0 {
		a.note("these nodes have not heard of the end: %s\n", some(unheard))
	}
	lab.Check(admmError(errors.Join(wait(), writePlan(c.Out, g, r.Plan))))
	return admmVerdict(r)
}

// joinFile is what nodes need in order to join, and what the server needs in order to come back.
func (c admmRunCmd) joinFile() string { return filepath.Join(c.Dir, "join.json") }

func (c admmRunCmd) checkpointFile() string { return filepath.Join(c.Dir, "coordinator.json") }

// serve starts a new server, or with --resume the earlier one, with its checkpoint if there is one.
func (c admmRunCmd) serve() (s *network.Server, checkpoint *network.Checkpoint) {
	addr, token := c.Listen, ""
	if c.Resume {
		var access network.Access
		lab.Check(admmError(prefix("--resume: no run was begun in "+c.Dir, files.LoadJSON(c.joinFile(), &access))))
		u, err := url.Parse(access.URL)
		lab.Check(prefix(c.joinFile(), err))
		addr, token = u.Host, access.Token
		checkpoint = new(network.Checkpoint)
		if err := files.LoadJSON(c.checkpointFile(), checkpoint); os.IsNotExist(err) {
			checkpoint = nil
		} else {
			lab.Check(admmError(err))
		}
	} else {
		lab.Check(os.RemoveAll(c.checkpointFile())) // of another run
	}
	s = admmMust(network.Serve(addr, token))
	lab.Check(admmError(files.SaveJSON(c.joinFile(), s.Access())))
	return s, checkpoint
}

// waiting prints who is waited for, when that changes.
func (c admmRunCmd) waiting(a *app) func(int, []admm.ID) {
	said := ""
	return func(round int, missing []admm.ID) {
		if text := fmt.Sprintf("round %d: waiting for %s\n", round, some(missing)); text != said && !a.quiet {
			said = text
			a.note("%s", text)
		}
	}
}

// ledgerPath is that of a spawned node.
func ledgerPath(dir string, id admm.ID) string {
	return filepath.Join(dir, "ledger", fmt.Sprintf("%v-%d.json", id.Side, id.Index))
}

// some names a few nodes.
func some(ids []admm.ID) string {
	var names []string
	for _, id := range ids[:min(3, len(ids))] {
		names = append(names, id.String())
	}
	if more := len(ids) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

type admmNodeCmd struct {
	File   string        `arg:""`
	Join   string        `required:"" placeholder:"FILE"`
	Ledger string        `placeholder:"FILE"`
	Out    string        `placeholder:"FILE"`
	Wait   time.Duration `default:"5m"`
	Tied   bool          `hidden:""`
}

func (c admmNodeCmd) Run(a *app) error {
	lab.Check(usage(isOwnInput("out", c.Out, c.File, c.Join, c.Ledger)))
	lab.Check(admmError(files.DrawKey(c.File)))
	spec, rules, err := files.ReadNode(c.File)
	lab.Check(admmError(err))
	if spec.Secret != nil {
		if c.Ledger == "" {
			return usagef("%s: %v is private: --ledger FILE: must be given, to keep account of what it releases",
				c.File, spec.ID)
		}
		ledger := admmMust(files.OpenLedger(c.Ledger, c.File))
		defer func() { _ = ledger.Close() }() // each line is on disk already
		spec.Secret.Ledger = ledger
	}
	ctx, end := context.WithCancel(a.run.ctx)
	defer end()
	if c.Tied {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // ends with the process that started this one
			end()
		}()
	}
	node := network.Node{Rules: rules, Spec: spec, Wait: c.Wait}
	lab.Check(admmError(files.LoadJSON(c.Join, &node.Access)))
	amounts := admmMust(node.Run(ctx))
	if c.Out != "" {
		lab.Check(files.SaveJSON(c.Out, amounts))
	}
	a.printf("%v: %v after %s\n", spec.ID, amounts.Status, plural(amounts.Rounds, "round"))
	return nil
}

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
