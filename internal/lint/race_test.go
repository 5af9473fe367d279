package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRaceDetectorCrash: .ci/test-race runs a package again where the race detector itself crashed,
// and nothing that failed in another way.
func TestRaceDetectorCrash(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, ".ci/test-race"))
	if err != nil {
		t.Fatal(err)
	}
	const (
		pass  = `{"Time":"t","Action":"pass","Package":"m/good","Test":"TestA","Elapsed":0}` + "\n" + `{"Time":"t","Action":"pass","Package":"m/bad","Test":"TestB","Elapsed":0}` + "\n"
		crash = `{"Time":"t","Action":"output","Package":"m/bad","Test":"TestC","Output":"ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 \"x\"\n"}` + "\n"
		fail  = `{"Time":"t","Action":"fail","Package":"m/bad","Elapsed":1}` + "\n"
		race  = `{"Time":"t","Action":"output","Package":"m/bad","Test":"TestC","Output":"WARNING: DATA RACE\n"}` + "\n"
		other = `{"Time":"t","Action":"fail","Package":"m/worse","Elapsed":1}` + "\n"
	)
	for name, c := range map[string]struct {
		report, second string // what the first run reports, and how the second ends
		want           string // totals
		again, ok      bool
	}{
		"all pass":                 {pass, "", "2 0\n", false, true},
		"a test fails":             {pass + fail, "", "2 1\n", false, false},
		"the detector crashes":     {pass + crash + fail, "5 0", "1 0\n5 0\n", true, true},
		"it crashes, another race": {pass + crash + fail + other, "", "2 2\n", false, false},
		"it crashes after a race":  {pass + race + crash + fail, "", "2 1\n", false, false},
		"then a test fails":        {pass + crash + fail, "4 1", "1 0\n4 1\n", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			// The first run of make writes the report, and the second notes that it ran.
			write("make", `#!/bin/sh
case "$*" in
*RACE=m/bad*) echo again; set -- "${2#RACE=}" "${3#TOTALS=}"; cat second >>"$2"; exec grep -q ' 0$' second ;;
*) mkdir -p dist/tests; cp first dist/tests/test-race.json; set -- "${2#TOTALS=}"
	echo "$(grep -c '"Action":"pass"' first) $(grep -c '"Action":"fail"' first)" >>"$1"; ! grep -q '"Action":"fail"' first ;;
esac
`)
			write("first", c.report)
			write("second", c.second+"\n")
			cmd := exec.CommandContext(t.Context(), script)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TOTALS="+filepath.Join(dir, "totals"))
			out, err := cmd.CombinedOutput()
			totals, _ := os.ReadFile(filepath.Join(dir, "totals"))
			if again := strings.Contains(string(out), "again\n"); (err == nil) != c.ok || string(totals) != c.want || again != c.again {
				t.Errorf("error %v, totals %q, again %v, want passed %v, %q, %v:\n%s", err, totals, again, c.ok, c.want, c.again, out)
			}
		})
	}
}
