package cuda

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"coupling/lab/device/internal/backend"
)

// prologue and what follows it are a kernel of 64 threads with two pointers, whose threads have the
// addresses of their words in a (%rd4), b (%rd5) and shared memory (%rd7), the latter also of their
// neighbours' (%rd8).
const prologue = `.version 7.0
.target sm_80
.address_size 64
.visible .entry probe(
	.param .u64 probe_param_0,
	.param .u64 probe_param_1
)
.maxntid 64, 1, 1
{
	.reg .pred %p<8>;
	.reg .b32 %r<32>;
	.reg .f32 %f<32>;
	.reg .b64 %rd<32>;
	.shared .align 16 .b8 held[256];
	ld.param.u64 %rd1, [probe_param_0];
	ld.param.u64 %rd2, [probe_param_1];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.u64 %rd6, held;
	add.s64 %rd7, %rd6, %rd3;
	xor.b32 %r3, %r1, 1;
	mul.wide.u32 %rd8, %r3, 4;
	add.s64 %rd9, %rd1, %rd8;
	add.s64 %rd8, %rd6, %rd8;
	setp.lt.u32 %p1, %r1, 5;
`

// TestEmulator: each check of the emulator fires, and what is right passes. a has 64 words that are
// written, b 64.
func TestEmulator(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		error string // none where it is empty
	}{
		"exchange": {"ld.global.u32 %r2, [%rd5]; st.shared.u32 [%rd7], %r2; bar.sync 0; " +
			"ld.shared.u32 %r4, [%rd8]; st.global.u32 [%rd4], %r4", ""},
		"shuffle": {"ld.global.u32 %r2, [%rd5]; shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; st.global.u32 [%rd4], %r4", ""},
		"rejoined": {"@%p1 bra $A; mov.u32 %r2, 0; bra.uni $B; $A: mov.u32 %r2, 0; $B: ld.global.u32 %r4, [%rd5]; " +
			"add.s32 %r2, %r2, %r4; shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1; st.global.u32 [%rd4], %r4", ""},

		"read after write": {"st.shared.u32 [%rd7], %r1; ld.shared.u32 %r4, [%rd8]", "race"},
		"write after read": {"st.shared.u32 [%rd7], %r1; bar.sync 0; ld.shared.u32 %r4, [%rd8]; " +
			"st.shared.u32 [%rd7], %r4", "race"},
		"write after write":     {"st.shared.u32 [%rd6], %r1", "race"},
		"equal writes":          {"mov.u32 %r2, 7; st.shared.u32 [%rd6], %r2", "race"},
		"global":                {"st.global.u32 [%rd4], %r1; ld.global.u32 %r4, [%rd9]", "race: reads what thread"},
		"blocks write":          {"mov.u32 %r9, %ctaid.x; st.global.u32 [%rd4], %r9", "race: writes what block"},
		"blocks read and write": {"ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd4], %r2", "race"},
		"read-only, then":       {"ld.global.nc.u32 %r2, [%rd4]; st.global.u32 [%rd4], %r1", "read-only: writes"},
		"then read-only":        {"st.global.u32 [%rd4], %r1; ld.global.nc.u32 %r2, [%rd4]", "read-only: block"},

		"unset shared":   {"ld.shared.u32 %r4, [%rd7]", "unset: reads shared byte"},
		"unset register": {"@%p1 bra $A; mov.u32 %r5, 7; $A: add.s32 %r6, %r5, %r5", "unset: an operand"},

		"behind":        {"st.global.u32 [%rd4+256], %r1", "bounds"},
		"before":        {"ld.global.u32 %r2, [%rd4+-4]", "bounds"},
		"behind shared": {"st.shared.u32 [%rd7+200], %r1", "bounds"},
		"parameter":     {"ld.param.u64 %rd9, [probe_param_1+8]", "bounds"},
		"another's":     {"ld.global.u32 %r2, [%rd4+16384]", "which no argument points into"},
		"misaligned":    {"ld.global.u64 %rd9, [%rd5]", "not aligned"},
		"divided by 0":  {"div.u32 %r3, %r1, %r1", "division by 0"},
		"barriers": {"@%p1 bra $A; bar.sync 0; bra.uni $B; $A: bar.sync 0; $B:",
			"threads wait at different ones"},
		"barrier missed": {"@%p1 bra $A; bar.sync 0; $A:", "barrier: lanes 0x1f of the warp have ended"},
		"shuffle missed": {"@%p1 bra $A; shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; $A:", "shuffle: lanes"},
		"deadlock": {"@%p1 bra $A; bar.sync 0; bra.uni $B; $A: shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; $B:",
			"barrier"},
	} {
		for _, schedule := range []string{"random", "lowest"} {
			t.Run(name+"/"+schedule, func(t *testing.T) {
				t.Setenv("PTXSIM_SCHEDULE", schedule)
				said := probe(newRig(t, Config{}), c.body)
				wrong := c.error == "" && said != nil || c.error != "" && said == nil
				if wrong || said != nil && !strings.Contains(said.Error(), c.error) {
					t.Errorf("%v: must say %q", said, c.error)
				}
			})
		}
	}
}

// probe runs a kernel, in two blocks if it names its block. Without an error it must have exchanged
// the numbers of neighbours.
func probe(r *rig, body string) error {
	text := []byte(prologue + strings.ReplaceAll(strings.ReplaceAll(body, ": ", ":\n"), "; ", ";\n"))
	if !strings.HasSuffix(body, ":") {
		text = append(text, ';')
	}
	text = append(text, "\n\tret;\n}\n\x00"...)
	m := &module{}
	var err error
	m.entries, err = parsePTX(text)
	r.ok(err)
	r.ok(r.g.do(func() error { return r.g.load(m, "probe", text) }))
	r.g.modules["probe"] = m
	b := make([]float64, 64)
	for i := range b {
		b[i] = float64(i)
	}
	to, from := r.set(backend.Float32, b, 64), r.set(backend.Float32, b, 64)
	r.set(backend.Float32, b, 64) // somebody else's
	blocks := 1
	if strings.Contains(body, "ctaid") || strings.Contains(body, "[%rd1]") {
		blocks = 2
	}
	r.do(func() { r.g.launch("probe", "probe", grid{x: blocks}, to, from) })
	if err := r.g.Sync(); err != nil {
		r.g.Close()
		return err
	}
	for i, got := range r.get(to) {
		if got != float64(i^1) {
			return fmt.Errorf("word %d is %v", i, got)
		}
	}
	return nil
}

// TestTensorCores checks mma.sync with whole numbers, by where PTX's documentation places the
// fragments; with sums that lose what lies below the last digit of their largest term; and with
// operands that are not TF32. b has the factors 16×8 and 8×8, a the result, which was the third
// operand, of each of two warps.
func TestTensorCores(t *testing.T) {
	const body = `	shr.u32 %r4, %r1, 5;
	and.b32 %r5, %r1, 31;
	shr.u32 %r6, %r5, 2;
	and.b32 %r7, %r5, 3;
	shl.b32 %r8, %r6, 3;
	add.s32 %r9, %r8, %r7;
	mul.wide.u32 %rd10, %r9, 4;
	add.s64 %rd10, %rd2, %rd10;
	ld.global.u32 %r20, [%rd10];
	ld.global.u32 %r21, [%rd10+256];
	ld.global.u32 %r22, [%rd10+16];
	ld.global.u32 %r23, [%rd10+272];
	shl.b32 %r8, %r7, 3;
	add.s32 %r9, %r8, %r6;
	mul.wide.u32 %rd11, %r9, 4;
	add.s64 %rd11, %rd2, %rd11;
	ld.global.u32 %r24, [%rd11+512];
	ld.global.u32 %r25, [%rd11+640];
	shl.b32 %r8, %r6, 3;
	shl.b32 %r9, %r7, 1;
	add.s32 %r9, %r8, %r9;
	shl.b32 %r8, %r4, 7;
	add.s32 %r9, %r8, %r9;
	mul.wide.u32 %rd12, %r9, 4;
	add.s64 %rd12, %rd1, %rd12;
	ld.global.f32 %f1, [%rd12];
	ld.global.f32 %f2, [%rd12+4];
	ld.global.f32 %f3, [%rd12+256];
	ld.global.f32 %f4, [%rd12+260];
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f5, %f6, %f7, %f8}, ` +
		`{%r20, %r21, %r22, %r23}, {%r24, %r25}, {%f1, %f2, %f3, %f4};
	st.global.f32 [%rd12], %f5;
	st.global.f32 [%rd12+4], %f6;
	st.global.f32 [%rd12+256], %f7;
	st.global.f32 [%rd12+260], %f8;
	ret;
}
`
	run := func(factors, sums []float64) ([]float64, error) {
		r := newRig(t, Config{})
		m, text := &module{}, []byte(prologue+body+"\x00")
		var err error
		m.entries, err = parsePTX(text)
		r.ok(err)
		r.ok(r.g.do(func() error { return r.g.load(m, "probe", text) }))
		r.g.modules["probe"] = m
		to, from := r.set(backend.Float32, sums, 256), r.set(backend.Float32, factors, 192)
		r.do(func() { r.g.launch("probe", "probe", grid{x: 1}, to, from) })
		defer r.g.Close()
		if err := r.g.Sync(); err != nil {
			return nil, err
		}
		return r.get(to), nil
	}
	rng := rand.New(rand.NewPCG(3, 4))
	factors, sums := make([]float64, 192), make([]float64, 256)
	for _, v := range [][]float64{factors, sums} {
		for i := range v {
			v[i] = float64(rng.IntN(201) - 100)
		}
	}
	got, err := run(factors, sums)
	for at, v := range got {
		i, j, want := at/8%16, at%8, sums[at]
		for k := range 8 {
			want += factors[i*8+k] * factors[128+k*8+j]
		}
		if v != want {
			t.Fatalf("element %d, %d is %v, want %v", i, j, v, want)
		}
	}
	for i := range factors {
		factors[i] = 0
	}
	for k := range 8 { // eight terms of half a unit of 1 + 2^-23 are lost, one by one
		factors[k], factors[128+8*k] = 0x1p-12, 0x1p-12
	}
	sums[0] = 1 + 0x1p-23
	got2, err2 := run(factors, sums)
	if err != nil || err2 != nil || got2[0] != sums[0] {
		t.Errorf("%v, %v: %v, want %v", err, err2, got2[0], sums[0])
	}
	factors[0] = 1 + 0x1p-11
	_, err = run(factors, sums)
	says(t, err, "more digits than tf32")
}

// TestUnknownInstruction: a kernel with one that the emulator has not is refused, with its line.
func TestUnknownInstruction(t *testing.T) {
	r := newRig(t, Config{})
	text := []byte(prologue + "\tsin.approx.f32 %f1, %f2;\n\tret;\n}\n\x00")
	err := r.g.do(func() error { return r.g.load(&module{}, "probe", text) })
	says(t, err, "probe: line 28: unknown instruction sin.approx.f32")
}
