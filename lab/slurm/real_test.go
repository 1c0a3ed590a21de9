package slurm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/template"
	"time"

	"coupling/lab"
	"coupling/lab/must"
	"coupling/lab/store"
)

// A Slurm of one node on 127.0.0.1, as Debian's slurm-wlm and munge are
// installed; started by hand, since there is no systemd in a container.
var configuration = template.Must(template.New("slurm.conf").Parse(`ClusterName=test
SlurmctldHost={{.Host}}(127.0.0.1)
SlurmctldPort={{.Port1}}
SlurmdPort={{.Port2}}
AuthType=auth/munge
AuthInfo=socket={{.Dir}}/munge.sock
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool
SlurmctldPidFile={{.Dir}}/slurmctld.pid
SlurmdPidFile={{.Dir}}/slurmd.pid
SlurmctldLogFile={{.Dir}}/slurmctld.log
SlurmdLogFile={{.Dir}}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=10000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName={{.Host}} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`))

// startSlurm starts the daemons and ends them with the test.
func startSlurm(t *testing.T) {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s: apt-get install slurm-wlm munge, and the test starts a cluster of its own", name)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: slurmd needs to be")
	}
	dir, err := os.MkdirTemp("", "slurm") //nolint:usetesting // short: the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	var conf bytes.Buffer
	must.Do(configuration.Execute(&conf, map[string]any{"Dir": dir, "Host": host, "Port1": freePort(),
		"Port2": freePort()}))
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	must.Do(errors.Join(
		os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "state"), 0o700),
		os.Mkdir(filepath.Join(dir, "spool"), 0o755),
		os.WriteFile(filepath.Join(dir, "slurm.conf"), conf.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, "munge.key"), key, 0o400),
	))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	// tasks are login shells: a killed one must not stop halfway through the profile of who runs
	// the test
	t.Setenv("HOME", t.TempDir())
	daemon(t, dir, "munged", "--foreground", "--force", "--key-file="+dir+"/munge.key", "--socket="+dir+"/munge.sock",
		"--pid-file="+dir+"/munged.pid", "--log-file="+dir+"/munged.log", "--seed-file="+dir+"/munged.seed")
	for range 3000 {
		if _, err := os.Stat(filepath.Join(dir, "munge.sock")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	daemon(t, dir, "slurmctld", "-D", "-c", "-f", dir+"/slurm.conf")
	daemon(t, dir, "slurmd", "-D", "-f", dir+"/slurm.conf", "-N", host)
	for range 3000 {
		out, _ := exec.Command("sinfo", "--noheader", "--format=%T").Output()
		if strings.TrimSpace(string(out)) == "idle" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, name := range []string{"munged", "slurmctld", "slurmd"} {
		b, _ := os.ReadFile(filepath.Join(dir, name+".log"))
		t.Logf("%s.log:\n%s", name, b)
	}
	t.Fatal("the cluster does not come up")
}

func freePort() int {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// daemon starts a program in the foreground, and ends it with the test.
func daemon(t *testing.T, dir, name string, args ...string) {
	cmd := exec.Command(name, args...)
	out := must.Get(os.Create(filepath.Join(dir, name+".out")))
	cmd.Stdout, cmd.Stderr = out, out
	must.Do(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
		out.Close()
	})
}

const realCells = 40

func realJobs() []store.Job { return walks(realCells, 20, 75) }

// realExecutor has the test binary as the program of its tasks.
func realExecutor(store, journal string, log func(string)) Executor {
	exe := must.Get(os.Executable())
	return Executor{
		Command: []string{exe, store, "job"}, Env: []string{"SLURM_TEST_WORKER=1", "SLURM_TEST_JOURNAL=" + journal},
		Poll: 200 * time.Millisecond, Request: Request{ArrayLimit: 8, Time: "5", Retries: 3}, Log: log,
	}
}

// client is the process that submits, and is killed.
func client(store, journal string) error {
	s, err := lab.OpenStore(store)
	if err != nil {
		return err
	}
	e := realExecutor(store, journal, func(s string) { fmt.Fprintln(os.Stderr, s) })
	for _, err := range e.Run(context.Background(), s, realJobs()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// A sweep on a real cluster, some of whose tasks are killed, and whose client is
// too, ends with the results of a run on this machine, and no cell is stored
// twice.
func TestSweepOnARealCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	startSlurm(t)
	local, remote := openStore(t), openStore(t)
	journal := filepath.Join(t.TempDir(), "journal")
	for _, err := range (store.Local{Workers: 40}).Run(t.Context(), local, realJobs()) {
		if err != nil {
			t.Fatal(err)
		}
	}

	exe, _ := os.Executable()
	first := exec.Command(exe, "client", remote.Dir, journal)
	first.Env = append(os.Environ(), "SLURM_TEST_WORKER=1")
	var said bytes.Buffer
	first.Stderr = &said
	must.Do(first.Start())
	t.Cleanup(func() { _ = first.Process.Kill() })
	waitFor(t, "six cells", func() bool { return count(t, remote) >= 6 })
	_ = first.Process.Kill()
	_ = first.Wait()
	killed := 0
	waitFor(t, "three tasks to kill", func() bool { killed += killTasks(t); return killed >= 3 })
	t.Logf("client killed; it said: %s", &said)

	arrays := 0
	e := realExecutor(remote.Dir, journal, func(s string) {
		t.Log(s)
		if strings.Contains(s, "submitted:") {
			arrays++
		}
	})
	landed, errs := outcome(t, t.Context(), e, remote, realJobs())
	if landed != realCells || len(errs) > 0 {
		t.Fatalf("%d landed of %d: %v", landed, realCells, errs)
	}
	if killed < 3 || arrays < 1 {
		t.Errorf("%d tasks killed, %d arrays submitted for them: the test has not tested", killed, arrays)
	}
	sameResults(t, local, remote)
	storedOnce(t, journal)
	for _, pattern := range []string{"*.lock", "*.scratch"} {
		if left, _ := filepath.Glob(filepath.Join(remote.Dir, "cells", "test", "walk", "*", pattern)); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// A second Ctrl-C, which is the end of ctx, empties the queue; tasks end on
// SIGTERM with their checkpoint written and their lock released.
func TestCancelOnARealCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	startSlurm(t)
	s := openStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if marks, _ := filepath.Glob(filepath.Join(s.Dir, "cells", "test", "walk", "*", "*.scratch", "steps")); len(
				marks) >= 4 {
				cancel()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	began := time.Now()
	_, errs := outcome(t, ctx, realExecutor(s.Dir, filepath.Join(t.TempDir(), "journal"), func(s string) { t.Log(s) }),
		s, walks(20, 100_000, 20))
	if len(errs) != 20 || !errors.Is(errs[0], context.Canceled) || time.Since(began) > 5*time.Minute {
		t.Errorf("%d errors after %v: %v", len(errs), time.Since(began), errs)
	}
	q := must.Get(queue(t.Context()))
	for name, tasks := range q {
		if tasks.anyLive() {
			t.Errorf("%s is still in the queue: %v", name, tasks)
		}
	}
	if locks, _ := filepath.Glob(filepath.Join(s.Dir, "cells", "test", "walk", "*", "*.lock")); len(locks) > 0 {
		t.Errorf("locks not released: %q", locks)
	}
	if marks, _ := filepath.Glob(filepath.Join(s.Dir, "cells", "test", "walk", "*", "*.scratch", "steps")); len(
		marks) < 4 {
		t.Errorf("%d checkpoints, want at least 4", len(marks))
	}
}

// Tasks that run into their time limit, of which a minute is the least, go on
// from their checkpoints when they are submitted again.
func TestTimeLimitOnARealCluster(t *testing.T) {
	if os.Getenv("SLURM_TEST_LONG") == "" {
		t.Skip("takes three minutes: SLURM_TEST_LONG=1 runs it")
	}
	startSlurm(t)
	s := openStore(t)
	resubmitted := 0
	e := realExecutor(s.Dir, filepath.Join(t.TempDir(), "journal"), func(text string) {
		t.Log(text)
		if strings.Contains(text, "TIMEOUT; cells of it") {
			resubmitted++
		}
	})
	e.Time = "1"
	// The limit is looked at twice a minute: no task does 110 s from the start.
	landed, errs := outcome(t, t.Context(), e, s, walks(2, 110, 1000))
	if landed != 2 || len(errs) > 0 || resubmitted != 2 {
		t.Errorf("%d landed, %d submitted again: %v", landed, resubmitted, errs)
	}
}

func openStore(t *testing.T) *store.Store {
	return must.Get(lab.OpenStore(t.TempDir()))
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: not within five minutes", what)
}

func count(t *testing.T, s *store.Store) (n int) {
	for _, err := range s.Records("") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// killTasks kills the tasks that run, one with SIGTERM and the others without a
// chance to clean up. scancel takes a while, so all at once.
func killTasks(t *testing.T) (n int) {
	q := must.Get(queue(t.Context()))
	var wg sync.WaitGroup
	var killed atomic.Int64
	sig := "TERM"
	for _, tasks := range q {
		for task, state := range tasks.state {
			if state != "RUNNING" {
				continue
			}
			cmd := exec.Command("scancel", "--batch", "--signal="+sig, fmt.Sprintf("%s_%d", tasks.ids[0], task))
			sig = "KILL"
			wg.Go(func() {
				if cmd.Run() == nil { // else it has ended by itself
					killed.Add(1)
				}
			})
		}
	}
	wg.Wait()
	return int(killed.Load())
}

func sameResults(t *testing.T, a, b *store.Store) {
	t.Helper()
	for _, j := range realJobs() {
		ra, erra := j.Recall(a)
		rb, errb := j.Recall(b)
		if err := errors.Join(erra, errb); err != nil {
			t.Error(err)
		} else if string(ra.Value) != string(rb.Value) {
			t.Errorf("%s: %s here and %s on the cluster", ra.Params, ra.Value, rb.Value)
		}
	}
}

// storedOnce reads the journal in which every task notes what it stored.
func storedOnce(t *testing.T, journal string) {
	t.Helper()
	b := must.Get(os.ReadFile(journal))
	times := map[string]int{}
	for _, key := range strings.Fields(string(b)) {
		if times[key]++; times[key] > 1 {
			t.Errorf("cell %s was stored twice", key)
		}
	}
	if len(times) != realCells {
		t.Errorf("%d cells stored by tasks, want %d", len(times), realCells)
	}
}
