package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command runs one of Slurm's programs and returns what it prints. A controller
// that does not answer is waited for as long as Slurm's own clients do.
func command(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "SLURM_BITSTR_LEN=0") // lists of tasks in full
	cmd.Stdin = bytes.NewReader(stdin)
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

// tasks is what the queue knows of the arrays that were submitted under one name.
type tasks struct {
	ids   []string       // of the arrays, for scancel
	state map[int]string // of each task that is known
	all   string         // state of those that are not listed one by one
}

// of returns the state of task i, "" where the queue does not know it.
func (t tasks) of(i int) string {
	if s, ok := t.state[i]; ok {
		return s
	}
	return t.all
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
	if live(t.all) {
		return true
	}
	for _, s := range t.state {
		if live(s) {
			return true
		}
	}
	return false
}

// count returns how many tasks run and how many wait.
func (t tasks) count() (running, pending int) {
	for _, s := range t.state {
		switch {
		case s == "PENDING":
			pending++
		case live(s):
			running++
		}
	}
	return running, pending
}

// queue asks for all tasks that the controller remembers, by job name. Slurm
// forgets ended ones after MinJobAge (300 s unless configured).
func queue(ctx context.Context) (map[string]tasks, error) {
	out, err := command(ctx, nil, "squeue", "--json", "--states=all", "--me")
	if err != nil { // --me came with 20.02, and goes unheard with --json in some releases
		return nil, err
	}
	return parseQueue(out)
}

// entry is one element of squeue's list, in the forms of Slurm 22.05 and of 23.02
// and later, which wraps numbers and lists states.
type entry struct {
	Name       string   `json:"name"`
	JobID      number   `json:"job_id"`
	ArrayJobID number   `json:"array_job_id"`
	TaskID     number   `json:"array_task_id"`
	Tasks      string   `json:"array_task_string"`
	State      jobState `json:"job_state"`
	Exit       exitCode `json:"exit_code"`
}

// failedByUsage is the state of a task whose command refused what it was asked
// for, or crashed: it would do so again.
const failedByUsage = "FAILED with status 2"

func (e entry) state() string {
	if e.State == "FAILED" && e.Exit == 2 {
		return failedByUsage
	}
	return string(e.State)
}

// exitCode is the status that a batch script returned: in older releases
// wait(2)'s word, in later ones {"return_code":N} with a [number] for N. What has
// another form counts as 0, since nothing but a hint hangs on it.
type exitCode int

func (c *exitCode) UnmarshalJSON(b []byte) error {
	var word int
	var wrapped struct {
		Code number `json:"return_code"`
	}
	switch {
	case json.Unmarshal(b, &word) == nil:
		*c = exitCode(word >> 8 & 0xff)
	case json.Unmarshal(b, &wrapped) == nil:
		*c = exitCode(wrapped.Code.n)
	}
	return nil
}

// number is N, null, or {"set":true,"number":N}.
type number struct {
	n   int
	set bool
}

func (v *number) UnmarshalJSON(b []byte) error {
	var wrapped struct {
		Set    bool `json:"set"`
		Number int  `json:"number"`
	}
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '{':
		err := json.Unmarshal(b, &wrapped)
		*v = number{wrapped.Number, wrapped.Set}
		return err
	}
	v.set = true
	return json.Unmarshal(b, &v.n)
}

// jobState is "RUNNING" or ["RUNNING"]; of several (["RUNNING","COMPLETING"]) a
// live one counts.
type jobState string

func (s *jobState) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return json.Unmarshal(b, (*string)(s))
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
		return err
	}
	*s = jobState(list[0])
	if i := slices.IndexFunc(list, live); i >= 0 {
		*s = jobState(list[i])
	}
	return nil
}

func parseQueue(b []byte) (map[string]tasks, error) {
	var list struct {
		Jobs   []entry           `json:"jobs"`
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("slurm: squeue --json: %w", err)
	}
	if len(list.Errors) > 0 {
		return nil, fmt.Errorf("slurm: squeue --json: %s", list.Errors[0])
	}
	out := map[string]tasks{}
	for _, e := range list.Jobs {
		if err := e.addTo(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e entry) addTo(out map[string]tasks) error {
	t := out[e.Name]
	if t.state == nil {
		t.state = map[int]string{}
	}
	id := e.JobID
	if e.ArrayJobID.set && e.ArrayJobID.n != 0 {
		id = e.ArrayJobID
	}
	if s := strconv.Itoa(id.n); !slices.Contains(t.ids, s) {
		t.ids = append(t.ids, s)
	}
	switch {
	case e.Tasks != "":
		list, whole, err := parseTasks(e.Tasks)
		if err != nil {
			return err
		}
		for _, i := range list {
			t.state[i] = e.state()
		}
		if !whole {
			t.all = e.state()
		}
	case e.TaskID.set:
		t.state[e.TaskID.n] = e.state()
	}
	out[e.Name] = t
	return nil
}

// parseTasks reads "3,5-9,20-40:5%4". It is not whole if Slurm has cut it with "…".
func parseTasks(s string) (list []int, whole bool, err error) {
	s, _, _ = strings.Cut(s, "%")
	whole = true
	for part := range strings.SplitSeq(s, ",") {
		if strings.HasSuffix(part, "...") {
			whole = false
			continue
		}
		var from, to, step int
		n, _ := fmt.Sscanf(part, "%d-%d:%d", &from, &to, &step)
		if n < 2 {
			to = from
		}
		if n < 3 {
			step = 1
		}
		if n == 0 || from < 0 || to < from || step < 1 || to-from > 10_000_000 {
			return nil, false, fmt.Errorf("slurm: squeue --json: list of tasks %q", s)
		}
		for i := from; i <= to; i += step {
			list = append(list, i)
		}
	}
	return list, whole, nil
}

// maxArray asks how many tasks an array may have.
func maxArray(ctx context.Context) int {
	const usual = 1001 // Slurm's default
	out, err := command(ctx, nil, "scontrol", "show", "config")
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
