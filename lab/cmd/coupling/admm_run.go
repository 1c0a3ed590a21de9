package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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

// Run coordinates a run.
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
		fmt.Fprintf(a.err, "listening on %s; each of %s joins with\n  coupling admm node %s --join %s%s\n",
			s.Access().URL,
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
	fmt.Fprintf(a.out, "%v after %s of %d nodes, %.3g s, residuals %.2g and %.2g\n", r.Status,
		plural(r.Rounds, "round"), g.Targets+g.Sources,
		time.Since(began).Seconds(), r.Primal, r.Dual)
	if len(unheard) > 0 {
		fmt.Fprintf(a.err, "these nodes have not heard of the end: %s\n", some(unheard))
	}
	lab.Check(admmError(errors.Join(wait(), writePlan(c.Out, g, r.Plan))))
	return admmVerdict(r)
}

// joinFile is what nodes need in order to join, and what the server needs in order to come back.
func (c admmRunCmd) joinFile() string { return filepath.Join(c.Dir, "join.json") }

func (c admmRunCmd) checkpointFile() string { return filepath.Join(c.Dir, "coordinator.json") }

// serve starts the server: a new one, or with --resume the earlier one, with the checkpoint of its
// run if that had begun.
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

// waiting says who is waited for, when that changes.
func (c admmRunCmd) waiting(a *app) func(int, []admm.ID) {
	said := ""
	return func(round int, missing []admm.ID) {
		if text := fmt.Sprintf("round %d: waiting for %s\n", round, some(missing)); text != said && !a.quiet {
			said = text
			fmt.Fprint(a.err, text)
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
