package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coupling/lab"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// records are the cells of rows, as records.
func records(t *testing.T) (*lab.Store, []lab.Record) {
	t.Helper()
	dir := t.TempDir()
	if own := os.Getenv("EXPORT_FOLDER"); own != "" { // for a look with the dashboards themselves
		dir = filepath.Join(own, "store")
	}
	s, err := lab.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	rowsIn(t, s)
	var out []lab.Record
	for r, err := range s.Records("") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return s, out
}

func folder(t *testing.T, name string) string {
	if own := os.Getenv("EXPORT_FOLDER"); own != "" {
		return filepath.Join(own, name)
	}
	return t.TempDir()
}

// message is a protobuf message, field by field.
type message map[protowire.Number][][]byte

func parse(t *testing.T, b []byte) message {
	t.Helper()
	m := message{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(num, typ, b[max(n, 0):])
		if n < 0 || size < 0 {
			t.Fatalf("not a message: %q", b)
		}
		v := b[n : n+size]
		if typ == protowire.BytesType {
			v, _ = protowire.ConsumeBytes(v)
		}
		m[num] = append(m[num], v)
		b = b[n+size:]
	}
	return m
}

func (m message) double(f protowire.Number) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(m[f][0]))
}

// events reads an event file, checking lengths and checksums.
func events(t *testing.T, path string) (out []message) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := binary.LittleEndian.Uint64(b)
		data := b[12 : 12+n]
		if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) || binary.LittleEndian.Uint32(b[12+n:]) != masked(data) {
			t.Fatal("a checksum is wrong")
		}
		out = append(out, parse(t, data))
		b = b[16+n:]
	}
	return out
}

// The header of every event file that TensorFlow writes: a record of 24 bytes,
// whose length has this masked checksum.
func TestMaskedChecksum(t *testing.T) {
	var b bytes.Buffer
	record(&b, event(1.5e9, 0, 3, []byte("brain.Event:2")))
	if want := "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("% x, want % x", b.Bytes()[:13], want)
	}
	// CRC-32C of the digits 1 to 9 is e3069283 (RFC 3720).
	crc := uint32(0xe3069283)
	if got, want := masked([]byte("123456789")), (crc>>15|crc<<17)+0xa282ead8; got != want {
		t.Errorf("%08x, want %08x", got, want)
	}
}

func TestTensorBoard(t *testing.T) {
	_, recs := records(t)
	dir := folder(t, "tensorboard")
	for _, r := range recs {
		if err := errors.Join(TensorBoard(dir, r), TensorBoard(dir, r)); err != nil { // again replaces
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "test/export", string(r.Key), "events.out.tfevents.*"))
		if len(files) != 1 {
			t.Fatalf("%d files", len(files))
		}
		got := map[string][]float64{}
		for i, e := range events(t, files[0]) {
			if i == 0 {
				if string(e[3][0]) != "brain.Event:2" {
					t.Errorf("version %q", e[3])
				}
				continue
			}
			v := parse(t, parse(t, e[5][0])[1][0])
			tag := string(v[1][0])
			if simple := v[2]; simple != nil {
				got[tag] = append(got[tag], float64(math.Float32frombits(binary.LittleEndian.Uint32(simple[0]))))
			}
			if tag == "_hparams_/session_start_info" {
				got["eps"] = []float64{startParam(t, v, "eps").double(2)}
				if s := startParam(t, v, "name")[3][0]; string(s) != `a "b", c` {
					t.Errorf("name %q", s)
				}
			}
			if at := e.double(1); at < float64(r.Manifest.Start.Unix()) {
				t.Errorf("%s at %v", tag, at)
			}
		}
		row, _ := r.Flatten()
		eps, _ := lab.Number(row["param.eps"])
		ok := 0.0
		if eps > 0 {
			ok = 1
		}
		want := map[string][]float64{"loss": {float64(float32(math.Log(eps)))}, "path": {1, eps}, "ok": {ok}, "eps": {eps}}
		if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); d != "" {
			t.Error(d)
		}
	}
}

// startParam finds a parameter in the metadata of a session's start.
func startParam(t *testing.T, v message, name string) message {
	t.Helper()
	plugin := parse(t, parse(t, v[9][0])[1][0])
	if string(plugin[1][0]) != "hparams" {
		t.Errorf("plugin %q", plugin[1])
	}
	for _, e := range parse(t, parse(t, plugin[2][0])[3][0])[1] {
		if entry := parse(t, e); string(entry[1][0]) == name {
			return parse(t, entry[2][0])
		}
	}
	t.Fatalf("no parameter %s", name)
	return nil
}

func TestMLflow(t *testing.T) {
	s, recs := records(t)
	dir := folder(t, "mlflow")
	for _, r := range recs {
		if err := errors.Join(MLflow(dir, s, r), MLflow(dir, s, r)); err != nil {
			t.Fatal(err)
		}
		run := filepath.Join(dir, mlflowID("test/export"), string(r.Key))
		read := func(name string) string {
			b, err := os.ReadFile(filepath.Join(run, name))
			if err != nil {
				t.Error(err)
			}
			return string(b)
		}
		row, _ := r.Flatten()
		at := r.Manifest.Start.UnixMilli()
		if got, want := read("params/eps"), lab.FormatCell(row["param.eps"]); got != want {
			t.Errorf("eps %q, want %q", got, want)
		}
		if got := read("params/deep.n"); got != "7" {
			t.Errorf("deep.n %q", got)
		}
		var time, step int64
		var loss string
		if _, err := fmt.Sscan(read("metrics/loss"), &time, &loss, &step); err != nil || time < at || !strings.EqualFold(loss, lab.FormatCell(row["value.loss"])) || step != 0 {
			t.Errorf("loss %d %s %d: %v", time, loss, step, err)
		}
		if n := strings.Count(read("metrics/path"), "\n"); n != 2 {
			t.Errorf("path has %d steps, want 2", n)
		}
		if meta := read("meta.yaml"); !strings.Contains(meta, "status: 3\n") || !strings.Contains(meta, fmt.Sprintf("run_id: '%s'\n", r.Key)) || !strings.Contains(meta, fmt.Sprintf("start_time: %d\n", at)) {
			t.Error(meta)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, mlflowID("test/export"), "meta.yaml")); err != nil || !strings.Contains(string(b), `name: "test/export"`) {
		t.Errorf("%s %v", b, err)
	}
}
