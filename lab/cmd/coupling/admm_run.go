package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coupling/dp/admm"
	"coupling/dp/admm/agents"
	"coupling/dp/admm/files"
	"coupling/dp/admm/network"
)

type admmRunCmd struct {
	Dir       string        `arg:"" help:"Folder that new wrote."`
	Listen    string        `default:"127.0.0.1:0" help:"Address of the server; port 0 takes a free one."`
	Advertise string        `help:"Name or address by which nodes reach the server, also in its certificate; needed with --listen 0.0.0.0:PORT." placeholder:"HOST"`
	Resume    bool          `help:"Go on with the run of a coordinator that died, at the same address; nodes that live are waiting for it."`
	Spawn     bool          `help:"Start every node as a process of this machine, and again if it dies."`
	Out       string        `help:"CSV of the plan (with --spawn): target, source, amount." placeholder:"FILE"`
	Patience  time.Duration `default:"1s" help:"How long to wait before asking again."`
}

// Help says what the coordinator sees.
func (admmRunCmd) Help() string {
	return `The coordinator reads network.json only: who takes part, and the rules. It hears sums of squares of each node and decides when to
stop. It writes DIR/join/{url,token,ca.pem}: who has them can join, and listen.

What it must remember is in DIR/coordinator. If it dies, nodes wait for it for some minutes (node --wait):

    coupling admm run DIR --resume

goes on where it was, with the same plan in the end. Nodes of --spawn die with their coordinator, and --spawn --resume starts them
again from their states. A coordinator without --resume begins a new run, which nodes of another one cannot join.

Private nodes keep a ledger of all that they ever release, with --spawn in DIR/ledger. A run that is the same as one before costs nothing
again; any other one costs anew, and nodes refuse it where their budget does not pay.`
}

// Run coordinates a run.
func (c admmRunCmd) Run(a *app) (err error) {
	n, err := files.ReadNetwork(c.Dir)
	if err != nil {
		return admmError(err)
	}
	g, err := n.Graph()
	if err != nil {
		return admmError(err)
	}
	s, minutes, err := c.serve()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := c.publish(s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.run.ctx)
	defer cancel()
	link, err := network.Line{Access: s.Access(), Run: runName}.Join(ctx, agents.Coordinator)
	if err != nil {
		return err
	}
	defer leave(link)
	var children *spawned
	if c.Spawn {
		if children, err = spawn(ctx, a, c, g.Nodes(), cancel); err != nil {
			return err
		}
		defer children.wait()
	} else {
		ledger := ""
		if n.Rules.Rounds > 0 {
			ledger = " --ledger " + ledgerPath(c.Dir, admm.ID{})
		}
		fmt.Fprintf(a.err, "listening on %s; each of %s joins with\n  coupling admm node %s --join %s --token-file %s --ca %s%s\n", s.Access().URL,
			plural(g.Targets+g.Sources, "node"), files.NodePath(c.Dir, admm.ID{}), s.Access().URL, c.join("token"), c.join("ca.pem"), ledger)
	}
	conductor := agents.Conductor{Rules: n.Rules, Nodes: g.Nodes(), Link: link, Patience: c.Patience, Resume: minutes}
	conductor.Save = func(m agents.Minutes) error { return files.SaveJSON(c.memory("minutes.json"), m) }
	if !a.quiet {
		said := ""
		conductor.Waiting = func(round int, missing []admm.ID) {
			if text := fmt.Sprintf("round %d: waiting for %s\n", round, some(missing)); text != said {
				said = text
				fmt.Fprint(a.err, text)
			}
		}
	}
	began := time.Now()
	sum, err := conductor.Run(ctx)
	if err != nil {
		cancel()
		if children != nil {
			if why := children.failed(); why != nil {
				err = why
			}
		}
		return admmError(err)
	}
	fmt.Fprintf(a.out, "%v after %s of %d nodes, %.3g s, residuals %.2g and %.2g\n", sum.Status, plural(sum.Rounds, "round"), g.Targets+g.Sources,
		time.Since(began).Seconds(), sum.Primal, sum.Dual)
	if len(sum.Silent) > 0 {
		fmt.Fprintf(a.err, "not known to have heard the end: %s\n", some(sum.Silent))
	}
	if children != nil {
		children.wait()
		if err := c.collect(g); err != nil {
			return err
		}
	}
	if sum.Status != admm.Converged {
		return exitError{exitUnconverged, fmt.Errorf("admm: %v after %d rounds: residuals %.3g and %.3g", sum.Status, sum.Rounds, sum.Primal, sum.Dual)}
	}
	return nil
}

// runName is the run on the server, of which there is one.
const runName = "run"

func (c admmRunCmd) join(name string) string { return filepath.Join(c.Dir, "join", name) }

// memory is a file of the coordinator.
func (c admmRunCmd) memory(name string) string { return filepath.Join(c.Dir, "coordinator", name) }

// serve starts the server: a new one, or with --resume the one that there was, with the minutes of its run if it had begun.
func (c admmRunCmd) serve() (*network.Server, *agents.Minutes, error) {
	if !c.Resume {
		if err := os.RemoveAll(filepath.Join(c.Dir, "coordinator")); err != nil { // of another run
			return nil, nil, err
		}
		s, err := network.Serve(c.Listen, c.Advertise)
		return s, nil, err
	}
	var id network.Identity
	if err := files.LoadJSON(c.memory("server.json"), &id); err != nil {
		return nil, nil, fmt.Errorf("--resume: no run was begun in %s: %w", c.Dir, err)
	}
	minutes := new(agents.Minutes)
	if err := files.LoadJSON(c.memory("minutes.json"), minutes); os.IsNotExist(err) {
		minutes = nil
	} else if err != nil {
		return nil, nil, err
	}
	s, err := network.ServeAgain(id)
	return s, minutes, err
}

// publish writes what nodes need to join, and what the server needs to come back.
func (c admmRunCmd) publish(s *network.Server) error {
	if err := files.SaveJSON(c.memory("server.json"), s.Identity()); err != nil {
		return err
	}
	access := s.Access()
	for name, text := range map[string][]byte{"url": []byte(access.URL), "token": []byte(access.Token), "ca.pem": access.CA} {
		if err := files.Replace(c.join(name), text); err != nil {
			return err
		}
	}
	return nil
}

// collect puts the amounts that nodes wrote together.
func (c admmRunCmd) collect(g admm.Graph) error {
	if c.Out == "" {
		return nil
	}
	var parts []agents.Amounts
	for _, id := range g.Nodes()[:g.Targets] {
		b, err := os.ReadFile(amountsPath(c.Dir, id))
		if err != nil {
			return err
		}
		var part agents.Amounts
		if err := json.Unmarshal(b, &part); err != nil {
			return fmt.Errorf("%s: %w", amountsPath(c.Dir, id), err)
		}
		parts = append(parts, part)
	}
	return writePlan(c.Out, g, agents.Assemble(g, parts))
}

func amountsPath(dir string, id admm.ID) string {
	return filepath.Join(dir, "amounts", fmt.Sprintf("%v-%d.json", id.Side, id.Index))
}

func statePath(dir string, id admm.ID) string {
	return filepath.Join(dir, "state", fmt.Sprintf("%v-%d.json", id.Side, id.Index))
}

func ledgerPath(dir string, id admm.ID) string {
	return filepath.Join(dir, "ledger", fmt.Sprintf("%v-%d.json", id.Side, id.Index))
}

// leave closes a link when all is said: an error then loses nothing.
func leave(l agents.Link) { _ = l.Close() }

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
	File      string        `arg:"" help:"The node's file."`
	Join      string        `required:"" help:"Address of the server, as in DIR/join/url." placeholder:"URL"`
	TokenFile string        `required:"" help:"File with the token." placeholder:"FILE"`
	CA        string        `name:"ca" required:"" help:"File with the server's certificate." placeholder:"FILE"`
	State     string        `help:"File to keep the state in, so that the node can die and come back." placeholder:"FILE"`
	Ledger    string        `help:"File to keep account in of all that a private node releases, over all its runs; private nodes must have one." placeholder:"FILE"`
	Out       string        `help:"JSON file of the node's amounts." placeholder:"FILE"`
	Patience  time.Duration `default:"1s" help:"How long to wait before asking again."`
	Wait      time.Duration `default:"5m" help:"How long to wait for a coordinator that is gone."`
	Tied      bool          `hidden:"" help:"End when standard input does."`
}

// Help says what a private node must have.
func (admmNodeCmd) Help() string {
	return `A private node needs a --ledger: in it every release stands before it is made, so that the node's budget is for all its runs and all
its crashes. Releases of a run that is repeated exactly are the same messages and cost nothing. Keep the ledger with the data and their file:
a node whose ledger is lost, damaged or in use by another process refuses to run.`
}

// Run is one node.
func (c admmNodeCmd) Run(a *app) error {
	if err := files.DrawKey(c.File); err != nil {
		return admmError(err)
	}
	spec, rules, err := files.ReadNode(c.File)
	if err != nil {
		return admmError(err)
	}
	account := func() {}
	if spec.Secret != nil {
		if c.Ledger == "" {
			return usage(fmt.Errorf("%s: %v is private: --ledger FILE: must be given, to keep account of what it releases", c.File, spec.ID))
		}
		ledger, err := files.OpenLedger(c.Ledger, c.File)
		if err != nil {
			return admmError(err)
		}
		account = func() { _ = ledger.Close() } // what it has is on the disk
		defer account()
		spec.Secret.Ledger = ledger
	}
	ctx, end := context.WithCancel(a.run.ctx)
	defer end()
	if c.Tied {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // ends when whoever started us does
			end()
		}()
	}
	token, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.CA)
	if err != nil {
		return err
	}
	agent := agents.Agent{Rules: rules, Spec: spec, Patience: c.Patience}
	if c.State != "" {
		agent.Save = files.SaveState(c.State)
		if agent.Resume, err = files.LoadState(c.State); err != nil {
			return err
		}
	}
	line := network.Line{Access: network.Access{URL: c.Join, Token: strings.TrimSpace(string(token)), CA: ca}, Run: runName, Wait: c.Wait}
	if agent.Link, err = line.Join(ctx, spec.ID); err != nil {
		return err
	}
	defer leave(agent.Link)
	amounts, err := agent.Run(ctx)
	account() // before leaving, which takes a while where the server is gone, and somebody may be waiting for the ledger
	if err != nil {
		return admmError(err)
	}
	if c.Out != "" {
		b, err := json.Marshal(amounts)
		if err != nil {
			return err
		}
		if err := files.Replace(c.Out, b); err != nil {
			return err
		}
	}
	if c.State != "" {
		if err := os.Remove(c.State); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	fmt.Fprintf(a.out, "%v: %v after %s\n", spec.ID, amounts.Status, plural(amounts.Rounds, "round"))
	return nil
}
