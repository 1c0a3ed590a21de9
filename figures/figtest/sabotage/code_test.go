package sabotage_test

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"coupling/lab"
	"coupling/lab/gallery"
)

//go:embed code.txt
var codeFaults string

// Each fault of code.txt, put into the code itself, breaks a claim that is asked at smoke. One program has them all,
// each behind the name in an environment variable; without a name all claims hold.
func TestFaultsInCode(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program and runs it some thirty times")
	}
	root, dir := lab.Must(filepath.Abs("../../..")), t.TempDir()
	overlay, figures := map[string]string{}, map[string][]string{}
	replace := func(path, text string) {
		file := fmt.Sprintf("%s/%d.go", dir, len(overlay))
		if known, ok := overlay[path]; ok {
			file = known
		}
		lab.Check(os.WriteFile(file, []byte(text), 0o666))
		overlay[path] = file
	}
	for _, line := range strings.Split(codeFaults, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.SplitN(line, " | ", 6)
		name, path := f[0], filepath.Join(root, f[2])
		source := path
		if changed, ok := overlay[path]; ok {
			source = changed
		}
		text := string(lab.Must(os.ReadFile(source)))
		if n := strings.Count(text, "\t"+f[4]+"\n"); n != 1 {
			t.Fatalf("%s: %s has %d lines %q", name, f[2], n, f[4])
		}
		both := [2]string{fmt.Sprintf("\tif faulted(%q) { %s }", name, f[5]), "\t" + f[4]}
		if f[3] == "after" {
			both[0], both[1] = both[1], both[0]
		}
		replace(path, strings.Replace(text, "\t"+f[4]+"\n", both[0]+"\n"+both[1]+"\n", 1))
		of := regexp.MustCompile(`(?m)^package \w+$`).FindString(text)
		replace(filepath.Join(filepath.Dir(path), "zz_faulted.go"), of+"\n\nimport \"os\"\n\n"+
			"func faulted(name string) bool { return os.Getenv(\"COUPLING_FAULT\") == name }\n")
		figures[name] = strings.Fields(f[1])
		figures[""] = append(figures[""], figures[name]...)
	}
	lab.Check(os.WriteFile(dir+"/overlay.json", lab.Must(json.Marshal(map[string]any{"Replace": overlay})), 0o666))
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", dir+"/overlay.json", "-o", dir+"/coupling",
		"./lab/cmd/coupling")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, drawn := range figures {
		t.Run(cmp.Or(name, "none"), func(t *testing.T) {
			out := filepath.Join(dir, "out-"+name)
			run := exec.CommandContext(t.Context(), dir+"/coupling", append([]string{"fig", "make", "--preset", "smoke",
				"--quiet", "--store", out + "/store", "--out", out}, drawn...)...)
			run.Env = append(os.Environ(), "COUPLING_FAULT="+name, "COUPLING_DATA=sample")
			said, err := run.CombinedOutput()
			failed := []string{}
			for _, f := range drawn {
				var page gallery.Page
				lab.Check(json.Unmarshal(lab.Must(os.ReadFile(out+"/"+f+".json")), &page))
				for _, c := range page.Claims {
					if c.Verdict == lab.Differs || c.Verdict == lab.Nothing {
						failed = append(failed, fmt.Sprintf("%s: got %s, expected %s", c.What, c.Got, c.Expected))
					}
				}
			}
			if seen := len(failed) > 0; seen == (name == "") {
				t.Errorf("in %v: claims that fail: %q; %v\n%s", drawn, failed, err, said)
			}
		})
	}
}
