package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"coupling/dp/admm/files"
	"coupling/dp/admm/network"
)

type admmNodeCmd struct {
	File   string        `arg:"" help:"The node's file."`
	Join   string        `required:"" help:"The coordinator's DIR/join.json, or a copy." placeholder:"FILE"`
	Ledger string        `help:"Ledger of all releases of a private node, over all its runs; private nodes must have one." placeholder:"FILE"`
	Out    string        `help:"JSON file of the node's amounts." placeholder:"FILE"`
	Wait   time.Duration `default:"5m" help:"How long to wait for a coordinator that does not answer."`
	Tied   bool          `hidden:"" help:"End when standard input does."`
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
	if spec.Secret != nil {
		if c.Ledger == "" {
			return usage(fmt.Errorf("%s: %v is private: --ledger FILE: must be given, to keep account of what it releases", c.File, spec.ID))
		}
		ledger, err := files.OpenLedger(c.Ledger, c.File)
		if err != nil {
			return admmError(err)
		}
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
	if err := files.LoadJSON(c.Join, &node.Access); err != nil {
		return admmError(err)
	}
	amounts, err := node.Run(ctx)
	if err != nil {
		return admmError(err)
	}
	if c.Out != "" {
		if err := files.SaveJSON(c.Out, amounts); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.out, "%v: %v after %s\n", spec.ID, amounts.Status, plural(amounts.Rounds, "round"))
	return nil
}
