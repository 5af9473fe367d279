package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/api/weirpb"
)

// fakeSavepoints takes each name once.
type fakeSavepoints map[string]bool

func (f fakeSavepoints) Savepoint(_ context.Context, name string) (*weirpb.CreateSavepointResponse, error) {
	switch {
	case f[name]:
		return nil, fmt.Errorf("%w: savepoint %s exists: drop it", ErrRefused, name)
	case name == "disk":
		return nil, errors.New("no space")
	}
	f[name] = true
	return &weirpb.CreateSavepointResponse{App: "spendcounter", Name: name, Partitions: 24}, nil
}

// TestSavepointCall: a name is taken once, an error states the reason, and the log has the caller.
func TestSavepointCall(t *testing.T) {
	var log bytes.Buffer
	cfg := config()
	app := appOf(&fakeState{instance: "weir-0"}, &fakePeers{})
	app.Savepoints = fakeSavepoints{}
	cfg.Apps = []App{app}
	cfg.Log = new(zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.InfoLevel))
	s := mustNew(t, cfg)
	stop := run(t, s)
	cl := NewClient(s.Addr())
	defer cl.Close()
	if res, err := cl.CreateSavepoint(t.Context(), &weirpb.CreateSavepointRequest{Name: "monday"}); err != nil || res.GetPartitions() != 24 || res.GetName() != "monday" {
		t.Errorf("first: %v, %v", res, err)
	}
	if _, err := cl.CreateSavepoint(t.Context(), &weirpb.CreateSavepointRequest{Name: "monday"}); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "drop it") {
		t.Errorf("an existing name: %v", err)
	}
	if _, err := cl.CreateSavepoint(t.Context(), &weirpb.CreateSavepointRequest{Name: "disk"}); connect.CodeOf(err) != connect.CodeInternal {
		t.Errorf("a full disk: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"monday", "disk"} {
		if text := log.String(); !strings.Contains(text, `"app":"counter","name":"`+name+`","remote":"127.0.0.1:`) {
			t.Errorf("the log lacks the caller of %s:\n%s", name, text)
		}
	}
	none := mustNew(t, config())
	run(t, none)
	other := NewClient(none.Addr())
	defer other.Close()
	if _, err := other.CreateSavepoint(t.Context(), &weirpb.CreateSavepointRequest{Name: "x"}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a process without state: %v", err)
	}
}
