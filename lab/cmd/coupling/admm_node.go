package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"coupling/dp/admm/files"
	"coupling/dp/admm/network"
	"coupling/lab"
)

type admmNodeCmd struct {
	File   string        `arg:""`
	Join   string        `required:"" placeholder:"FILE"`
	Ledger string        `placeholder:"FILE"`
	Out    string        `placeholder:"FILE"`
	Wait   time.Duration `default:"5m"`
	Tied   bool          `hidden:""`
}

// Run is one node.
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
	fmt.Fprintf(a.out, "%v: %v after %s\n", spec.ID, amounts.Status, plural(amounts.Rounds, "round"))
	return nil
}
