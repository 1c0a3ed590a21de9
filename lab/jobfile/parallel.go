package jobfile

import (
	"fmt"
	"io"
	"strings"
)

// Parallel writes a shell script that does the lines of a file with GNU
// parallel, on this machine or on those that it reaches by ssh and that share
// the store. With --resume-failed the script goes on where it was stopped.
type Parallel struct {
	Command []string // does a line; FILE INDEX --stride N are appended
	File    string
	Tasks   int
	Jobs    int    // at a time and machine; 0: one a core
	Log     string // what ran, for parallel to resume
	Hosts   string // a list for --sshlogin, "node1,node2"; may be empty
	Retries int
	Device  string // COUPLING_DEVICE of the tasks
}

// Write writes the script.
func (p Parallel) Write(w io.Writer) error {
	if p.Tasks < 1 || len(p.Command) == 0 || p.File == "" || p.Log == "" {
		return fmt.Errorf("jobfile: parallel: %d tasks of %q in %q with the log %q: none may be empty", p.Tasks, p.Command, p.File, p.Log)
	}
	options := []string{"--joblog", p.Log, "--resume-failed", "--retries", fmt.Sprint(p.Retries + 1)}
	if p.Jobs > 0 {
		options = append(options, "--jobs", fmt.Sprint(p.Jobs))
	}
	if p.Hosts != "" {
		options = append(options, "--sshlogin", p.Hosts)
	}
	command := words(p.Command, p.File, "{}", p.Tasks)
	if p.Device != "" {
		command = append([]string{"env", "COUPLING_DEVICE=" + p.Device}, command...)
	}
	_, err := fmt.Fprintf(w, "#!/bin/sh\n# A line of the job file a task; SIGTERM to parallel lets the running cells finish.\nseq 0 %d |\nexec parallel %s %s\n",
		p.Tasks-1, Quote(options...), quoteTwice(command))
	return err
}

// quoteTwice quotes for the shell that parallel starts and then for the one that
// runs the script, leaving {} for parallel to replace.
func quoteTwice(words []string) string {
	inner := make([]string, len(words))
	for i, w := range words {
		if inner[i] = w; w != "{}" {
			inner[i] = Quote(w)
		}
	}
	return Quote(strings.Join(inner, " "))
}
