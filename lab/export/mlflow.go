package export

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"coupling/lab"
	"coupling/lab/durable"
)

// MLflow writes a cell as a run of MLflow's file store: the experiment's name is
// MLflow's experiment, the key is the run's id, and the artifacts stay where they
// are, in s. A cell that is written again replaces itself.
//
//	mlflow ui --backend-store-uri DIR
func MLflow(dir string, s *lab.Store, r lab.Record) error {
	ms, ps, err := split(r)
	if err != nil {
		return err
	}
	id := mlflowID(r.Experiment)
	home, err := filepath.Abs(filepath.Join(dir, id))
	if err != nil {
		return fmt.Errorf("export: mlflow: %w", err)
	}
	run := filepath.Join(home, string(r.Key))
	start := r.Manifest.Start.UnixMilli()
	files := map[string]string{}
	for name, v := range ps {
		files["params/"+mlflowName(name)] = clip(lab.FormatCell(v), 6000) // MLflow's limit
	}
	for _, m := range ms {
		var b strings.Builder
		for step, x := range m.series {
			at := start + int64(1000*r.Manifest.Seconds*float64(step+1)/float64(len(m.series)))
			fmt.Fprintf(&b, "%d %s %d\n", at, strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), step)
		}
		files["metrics/"+mlflowName(m.name)] = b.String()
	}
	for name, v := range map[string]string{
		"mlflow.runName": r.Key.Short(), "mlflow.source.git.commit": r.Manifest.Commit,
		"device": r.Manifest.Device, "host": r.Manifest.Host, "version": fmt.Sprint(r.Version), "error": r.Error,
	} {
		if v != "" {
			files["tags/"+name] = clip(v, 5000)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := durable.Write(filepath.Join(run, filepath.FromSlash(name)), []byte(files[name])); err != nil {
			return err
		}
	}
	experiment := fmt.Sprintf("artifact_location: %q\ncreation_time: %d\nexperiment_id: '%s'\nlast_update_time: %d\nlifecycle_stage: active\nname: %q\n",
		fileURL(home), start, id, start, r.Experiment)
	// A run is one when its meta.yaml is there, so that comes last.
	if err := durable.Write(filepath.Join(home, "meta.yaml"), []byte(experiment)); err != nil {
		return err
	}
	return durable.Write(filepath.Join(run, "meta.yaml"), []byte(mlflowRun(r, id, fileURL(s.ArtifactDir(r)))))
}

// mlflowRun is the run's meta.yaml. Status 3 is FINISHED, 4 FAILED; source type 4
// is LOCAL.
func mlflowRun(r lab.Record, experiment, artifacts string) string {
	status := 3
	if r.Error != "" {
		status = 4
	}
	start := r.Manifest.Start.UnixMilli()
	return fmt.Sprintf(`artifact_uri: %q
end_time: %d
entry_point_name: ''
experiment_id: '%s'
lifecycle_stage: active
run_id: %s
run_name: %s
run_uuid: %s
source_name: ''
source_type: 4
source_version: ''
start_time: %d
status: %d
tags: []
user_id: ''
`, artifacts, start+int64(1000*r.Manifest.Seconds), experiment, quoted(string(r.Key)), quoted(r.Key.Short()), quoted(string(r.Key)), start, status)
}

// quoted keeps YAML from reading a key such as 12345678e9 as a number.
func quoted(s string) string { return "'" + s + "'" }

func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// mlflowID makes 18 digits of an experiment's name, as MLflow's own ids have.
func mlflowID(name string) string {
	h := sha256.Sum256([]byte(name))
	return fmt.Sprint(100_000_000_000_000_000 + binary.BigEndian.Uint64(h[:8])%900_000_000_000_000_000)
}

// mlflowName keeps what MLflow allows in names.
func mlflowName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-. ", r) {
			return r
		}
		return '_'
	}, s)
}

func clip(s string, n int) string { return s[:min(n, len(s))] }
