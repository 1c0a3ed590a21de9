package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"coupling/lab"
	"coupling/lab/internal/interrupt"
	"coupling/lab/runs"
)

type runsServeCmd struct {
	Port    int    `default:"0" min:"0" max:"65535"`
	Gallery string `default:"out" placeholder:"DIR"`
}

// Run serves the page of the store until it is interrupted.
func (c runsServeCmd) Run(a *app) error {
	s := lab.Must(a.existing())
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	lab.Check(usage(prefix("--port", err)))
	page := lab.Must(runs.New(s, c.Gallery))
	fmt.Fprintf(a.out, "http://%s%s\n", l.Addr(), page.Path())
	fmt.Fprintln(a.err,
		"coupling: for this machine only; from another: ssh -L, with the same port at both ends. Ctrl-C ends it")
	ctx, stop := interrupt.Context(a.run.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
