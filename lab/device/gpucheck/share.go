package main

import (
	"fmt"
	"strings"
)

// peaks are the highest rates of the device, in giga-units a second, 0 where that is not known: bandwidth and products
// as measured by the benchmarks named Peak, and float32 exponentials by what its special-function units can do.
type peaks struct {
	bytes, flop32, flop64, exps32 float64
	device                        About
}

// specialFunctions is the number that a multiprocessor starts in a cycle, on every compute capability from 8.0 on.
const specialFunctions = 16

func (r Report) peaks() peaks {
	p := peaks{device: r.Device, exps32: specialFunctions * float64(r.Device.Units) * float64(r.Device.ClockMHz) / 1e3}
	for _, s := range r.Suites {
		for _, m := range s.Benchmarks {
			switch _, name, _ := strings.Cut(m.Name, "/Peak/"); {
			case strings.HasPrefix(name, "copy"):
				p.bytes = m.Metrics["GB/s"]
			case strings.HasPrefix(name, "product_float32"):
				p.flop32 = m.Metrics["GFLOP/s"]
			case strings.HasPrefix(name, "product_float64"):
				p.flop64 = m.Metrics["GFLOP/s"]
			}
		}
	}
	return p
}

// share is the floor of a call, by what it cannot do without, over what it took; empty where nothing is known. Float64
// exponentials are polynomials, and not counted.
func (p peaks) share(m Benchmark) string {
	took := m.Metrics["ns/call"]
	if took == 0 {
		m, took = m.rates(), 1
	}
	double := strings.Contains(m.Name, "float64")
	flop, exps := p.flop32, p.exps32
	if double {
		flop, exps = p.flop64, 0
	}
	floor, by := 0.0, ""
	for _, limit := range []struct {
		by          string
		count, rate float64
	}{{"memory", m.Metrics["bytes/call"], p.bytes}, {"products", m.Metrics["flop/call"], flop},
		{"exponentials", m.Metrics["exp/call"], exps}} {
		if limit.rate > 0 && limit.count/limit.rate > floor {
			floor, by = limit.count/limit.rate, limit.by
		}
	}
	if floor == 0 || !(took > 0) {
		return ""
	}
	return fmt.Sprintf("%.0f%% (%s)", 100*floor/took, by)
}

// rates is the work of a nanosecond, of benchmarks that give it a second. A half-step of Sinkhorn has an exponential a
// pair, and a product with sum in each dimension.
func (m Benchmark) rates() Benchmark {
	work := map[string]float64{"bytes/call": m.Metrics["GB/s"], "flop/call": m.Metrics["GFLOP/s"]}
	if _, size, ok := strings.Cut(m.Name, "half-step/"); ok {
		var d float64
		if _, dim, ok := strings.Cut(size, "/d="); ok {
			_, _ = fmt.Sscanf(dim, "%g", &d) // else without products
		}
		work["exp/call"] = m.Metrics["Gpairs/s"]
		work["flop/call"] = (2*d + 2) * m.Metrics["Gpairs/s"]
	}
	return Benchmark{Name: m.Name, Metrics: work}
}

// String names the peaks that shares refer to.
func (p peaks) String() string {
	if p.bytes == 0 {
		return ""
	}
	return fmt.Sprintf(
		"\nA share is the time that a call must take at least, over what it took. Memory: %.4g GB/s, a large copy "+
			"here. "+
			"Products: %.4g GFLOP/s in float32, %.4g in float64, large ones here. Exponentials in float32: %.4g G/s, "+
			"%d a cycle of %d "+
			"multiprocessors at %d MHz. More than 100%% of the memory is from caches.\n",
		p.bytes, p.flop32, p.flop64, p.exps32, specialFunctions, p.device.Units, p.device.ClockMHz)
}
