package api

import (
	"testing"

	"github.com/weirhq/weir/jobqueue"
)

// TestJobID: ids are parsed as they are printed, and other texts are refused.
func TestJobID(t *testing.T) {
	for text, want := range map[string]JobID{
		"0-0": {}, "3-4711": {3, 4711}, "2147483647-18446744073709551615": {1<<31 - 1, jobqueue.ID(1<<64 - 1)},
	} {
		if id, err := ParseJobID(text); err != nil || id != want || id.String() != text {
			t.Errorf("%q is %v, %v", text, id, err)
		}
	}
	for _, text := range []string{"", "-", "3", "3-", "-4", "03-1", "3-01", "3-1-2", "-3-1", "3--1", "+3-1", "3-1 ", "2147483648-1", "3-18446744073709551616"} {
		if id, err := ParseJobID(text); err == nil {
			t.Errorf("%q is %v", text, id)
		}
	}
}

// FuzzJobID: no text has another id than the one that prints it.
func FuzzJobID(f *testing.F) {
	f.Add("3-4711")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseJobID(text); err == nil && id.String() != text {
			t.Errorf("%q is %v", text, id)
		}
	})
}
