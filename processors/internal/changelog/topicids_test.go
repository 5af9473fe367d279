package changelog

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// If several topics were created again, every partition names the same one, so that their reasons
// are equal.
func TestTopicsThatWereCreatedAgain(t *testing.T) {
	meta := &changelogpb.TaskMeta{ChangelogTopicId: []byte{1}, Marker: &changelogpb.Marker{Inputs: []*changelogpb.Position{
		{Topic: "in", TopicId: []byte{1}}, {Topic: "a", TopicId: []byte{1}}, {Topic: "unknown"},
	}}}
	f := &BrokerState{proc: &stream.Processor{Changelog: "log"}, IDs: map[string][]byte{"log": {2}, "in": {2}, "a": {2}, "unknown": {2}}}
	for range 50 {
		if err := f.checkTopicIDs(3, meta); err == nil || !strings.Contains(err.Error(), "topic a was deleted and created again (id 02, was 01)") {
			t.Fatal(err)
		}
	}
	f.IDs = map[string][]byte{"log": {1}, "in": {1}}
	if err := f.checkTopicIDs(3, meta); err != nil {
		t.Error(err)
	}
}
