package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	Dir      string        `arg:"" help:"Folder that new wrote."`
	Listen   string        `default:"127.0.0.1:0" help:"Address of the server; port 0 takes a free one."`
	Spawn    bool          `help:"Start every node as a process of this machine, and again if it dies."`
	Out      string        `help:"CSV of the plan (with --spawn): target, source, amount." placeholder:"FILE"`
	Patience time.Duration `default:"1s" help:"How long to wait before asking again."`
}

// Help says what the coordinator sees.
func (admmRunCmd) Help() string {
	return `The coordinator reads network.json only: who takes part, and the rules. It hears sums of squares of each node and decides when to
stop. It writes DIR/join/{url,token,ca.pem}: who has them can join, and listen.`
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
	s, err := network.Serve(c.Listen)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := c.publish(s.Access()); err != nil {
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
		fmt.Fprintf(a.err, "listening on %s; each of %s joins with\n  coupling admm node %s --join %s --token-file %s --ca %s\n", s.Access().URL,
			plural(g.Targets+g.Sources, "node"), files.NodePath(c.Dir, admm.ID{}), s.Access().URL, c.join("token"), c.join("ca.pem"))
	}
	conductor := agents.Conductor{Rules: n.Rules, Nodes: g.Nodes(), Link: link, Patience: c.Patience}
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
		return c.collect(g)
	}
	return nil
}

// runName is the run on the server, of which there is one.
const runName = "run"

func (c admmRunCmd) join(name string) string { return filepath.Join(c.Dir, "join", name) }

// publish writes what nodes need to join.
func (c admmRunCmd) publish(access network.Access) error {
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
	Out       string        `help:"JSON file of the node's amounts." placeholder:"FILE"`
	Patience  time.Duration `default:"1s" help:"How long to wait before asking again."`
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
	line := network.Line{Access: network.Access{URL: c.Join, Token: strings.TrimSpace(string(token)), CA: ca}, Run: runName}
	if agent.Link, err = line.Join(a.run.ctx, spec.ID); err != nil {
		return err
	}
	defer leave(agent.Link)
	amounts, err := agent.Run(a.run.ctx)
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
