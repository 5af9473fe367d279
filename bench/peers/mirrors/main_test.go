package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/weirhq/weir/bench/peers/child"
)

func TestFlags(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "",
		"-measure rate,kills -systems weir":  "",
		"-o json -- us.consumer.fetch.min=1": "",
		"-o xml":                             "-o is",
		"-events 7":                          "-events is",
		"-duration 0s":                       "-duration",
		"-measure speed":                     `-measure: "speed"`,
		"-systems weir,flume":                `-systems: "flume"`,
		"-source h:1 -target h:1":            "different Kafkas",
		"-- --help":                          "not a property",
	} {
		b := bench{Runner: child.Runner{Log: io.Discard}}
		_, _, _, err := b.parse(strings.Fields(line))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", line, err, want)
		}
	}
}

// TestProcess: a process that ends by itself is noticed, with its output; one that ignores SIGTERM
// would be killed after stopLimit.
func TestProcess(t *testing.T) {
	p := program{name: "/bin/sh", args: []string{"-c", `echo "$GREETING"; [ -n "$WAIT" ] && read line; exit 3`}, log: t.TempDir() + "/log"}
	p.env = []string{"GREETING=good day"}
	r, err := p.start()
	if err != nil {
		t.Fatal(err)
	}
	<-r.ended
	if err := r.alive(); err == nil || !strings.Contains(err.Error(), "good day") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v, want output and exit status", err)
	}
	p.name, p.args = "sleep", []string{"1000"}
	for _, end := range []func(*process) int64{(*process).kill, (*process).stop} {
		if r, err = p.start(); err != nil {
			t.Fatal(err)
		}
		if err := r.alive(); err != nil {
			t.Error(err)
		}
		end(r)
		if err := r.alive(); err == nil {
			t.Error("the process still runs")
		}
	}
	if !bytes.Contains([]byte(r.tail()), []byte("good day")) {
		t.Error("a second start has removed the output of the first one")
	}
}
