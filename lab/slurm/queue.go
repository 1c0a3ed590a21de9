package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command runs one of Slurm's programs and returns what it prints. It waits for a controller that
// does not answer as long as Slurm's own clients do.
func command(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("slurm: no %s on PATH: is this a login node of a cluster? (%w)", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("slurm: %s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// tasks is the queue's information on the arrays submitted under one name.
type tasks struct {
	ids   []string       // of the arrays, for scancel
	state map[int]string // of each task that is known
}

// live reports whether a task in this state may still do something.
func live(state string) bool {
	switch state {
	case "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "REQUEUE_FED",
		"REQUEUE_HOLD", "SPECIAL_EXIT", "STAGE_OUT", "RESIZING", "SIGNALING", "STOPPED", "RESV_DEL_HOLD":
		return true
	}
	return false
}

func (t tasks) anyLive() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(t.state)), live)
}

// failedByUsage is the state of a task whose command refused its arguments, or crashed: it would do
// so again.
const failedByUsage = "FAILED with status 2"

// queue asks for all tasks that the controller remembers, by job name. Slurm
// forgets ended ones after MinJobAge (300 s unless configured).
func queue(ctx context.Context) (map[string]tasks, error) {
	out, err := command(ctx, "squeue", "--me", "--states=all", "--array", "--noheader",
		"--Format=ArrayJobID:20,ArrayTaskID:20,State:20,exit_code:20,Name:40")
	if err != nil {
		return nil, err
	}
	q := map[string]tasks{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 5 || !strings.HasPrefix(f[4], namePrefix) {
			continue // not of ours
		}
		id, state, name := f[0], f[2], f[4]
		task, err1 := strconv.Atoi(f[1])
		exit, err2 := strconv.Atoi(f[3]) // the word of wait(2)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("slurm: squeue: %q: %w", line, err)
		}
		if state == "FAILED" && exit>>8 == 2 {
			state = failedByUsage
		}
		t := q[name]
		if t.state == nil {
			t.state = map[int]string{}
		}
		if !slices.Contains(t.ids, id) {
			t.ids = append(t.ids, id)
		}
		t.state[task] = state
		q[name] = t
	}
	return q, nil
}

// maxArray asks how many tasks an array may have.
func maxArray(ctx context.Context) int {
	const usual = 1001 // Slurm's default
	out, err := command(ctx, "scontrol", "show", "config")
	if err != nil {
		return usual
	}
	for l := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(l, "=")
		if strings.TrimSpace(name) == "MaxArraySize" {
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n > 0 {
				return n
			}
		}
	}
	return usual
}
