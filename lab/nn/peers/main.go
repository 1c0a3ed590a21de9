//go:build unix

// Peers times products, convolutions and training steps of this module, one request at a time, so that peers.py can run
// them beside PyTorch on the same machine in the same minutes.
//
//	python3 lab/nn/peers/peers.py
//
// Each line of standard input is a JSON request, for example
//
//	{"kind": "conv", "pass": "weight", "n": 8, "in": 64, "out": 64, "side": 32, "kernel": 3, "stride": 1}
//
// and each is answered by a line of JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"syscall"
	"time"

	"coupling/lab/device"
)

// A request asks for the time of one call. N is the side of matrices or the examples of a batch.
type request struct {
	Kind   string `json:"kind"` // gemm, conv, step or clip
	Type   string `json:"type"` // of gemm: float32 or float64
	Trans  string `json:"trans"`
	Pass   string `json:"pass"` // of conv: forward, weight or input
	Net    string `json:"net"`  // of step and clip
	N      int    `json:"n"`
	In     int    `json:"in"`
	Out    int    `json:"out"`
	Side   int    `json:"side"`
	Kernel int    `json:"kernel"`
	Stride int    `json:"stride"`
}

// A reply is the processor seconds of one call, the least of several, and by how much the calls raised the largest
// resident memory of the process, in bytes.
type reply struct {
	CPU  float64 `json:"cpu"`
	Peak int64   `json:"peak"`
	Note string  `json:"note"`
}

func main() {
	log.SetFlags(0)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until the input ends.
func serve(in io.Reader, out io.Writer) error {
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q request
		if err := requests.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := replies.Encode(answer(q)); err != nil {
			return err
		}
	}
}

// answer times the call that q asks for, on a device of its own.
func answer(q request) reply {
	dev, err := device.CPU{}.Open()
	if err != nil {
		return reply{Note: err.Error()}
	}
	defer func() { _ = dev.Close() }()
	defer dev.Scope().Close()
	call, err := prepare(dev, q)
	if err != nil {
		return reply{Note: err.Error()}
	}
	runtime.GC()
	before := resident()
	r := reply{CPU: least(call)}
	r.Peak = resident() - before
	if err := dev.Err(); err != nil {
		r.Note = err.Error()
	}
	return r
}

func prepare(dev *device.Device, q request) (call func(), err error) {
	switch q.Kind {
	case "gemm":
		return gemm(dev, q), nil
	case "conv":
		return convolution(dev, q)
	case "step", "clip":
		return step(dev, q)
	}
	return nil, fmt.Errorf("kind = %q: must be gemm, conv, step or clip", q.Kind)
}

// least is the processor seconds of one call: the least mean of five runs of at least 50 ms, after one call.
func least(call func()) float64 {
	call()
	best := 0.0
	for run := range 5 {
		start, calls := processor(), 0
		for calls == 0 || processor()-start < 50*time.Millisecond {
			call()
			calls++
		}
		if mean := (processor() - start).Seconds() / float64(calls); run == 0 || mean < best {
			best = mean
		}
	}
	return best
}

func usage() (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return u
}

// processor is the processor time that the process has used.
func processor() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the most memory that the process has had, in bytes, where Maxrss is in kilobytes as on Linux.
func resident() int64 { return usage().Maxrss << 10 }
