package main

import (
	"runtime"
	"runtime/debug"
)

// version is set by the Makefile from git.
var version = "unreleased"

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(a *app) error {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		module = info.Main.Path + " "
	}
	a.printf("%s%s %s %s/%s\n", module, version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
