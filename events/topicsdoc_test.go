package events

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weirhq/weir/events/eventspb"

	"github.com/weirhq/weir/stream"
)

// topicRow returns the row of docs/topics.md about a topic.
func topicRow(t stream.Topic) string {
	keeps := "compacted"
	if t.Cleanup == stream.CleanupDelete {
		keeps = strings.TrimSuffix(fmt.Sprintf("%d days", t.Retention/(24*time.Hour)), "s")
		if t.Retention >= 48*time.Hour {
			keeps += "s"
		}
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", t.Name, t.Key, strings.ReplaceAll(t.Doc, "<", "&lt;"), keeps)
}

// TestTopicsDocument: docs/topics.md has each topic of the catalogs with its key, message and
// retention, and no other topic; the messages exist in the schemas that it names.
func TestTopicsDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/topics.md")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			have = append(have, strings.TrimSpace(line))
		}
	}
	var want []string
	messages := map[string]int{}
	for _, topic := range slices.Concat(Catalog("<dc>", Layout{}), CopiedTopics("<dc>", Layout{}), MirrorCatalog(Layout{}), PushCatalog("<dc>", "<target>", Layout{}), PacingCatalog("<dc>", Layout{}), []stream.Topic{CopiedBudgets("<dc>", "<dc>", Layout{})}, LeaseCatalog([]string{"<region>"}, 0), JobsCatalog(Layout{})) {
		want = append(want, topicRow(topic))
		if name, _, ok := strings.Cut(topic.Doc, ":"); ok {
			messages[name]++
		}
	}
	for _, row := range want {
		if !slices.Contains(have, row) {
			t.Errorf("docs/topics.md lacks\n%s", row)
		}
	}
	for _, row := range have {
		if !slices.Contains(want, row) {
			t.Errorf("no topic is as\n%s", row)
		}
	}
	if len(messages) < 9 {
		t.Errorf("the catalogs name the messages %v", messages)
	}
	for name := range messages {
		in := func(f protoreflect.FileDescriptor) bool { return f.Messages().ByName(protoreflect.Name(name)) != nil }
		if !in(eventspb.File_ads_proto) && !in(eventspb.File_pacing_proto) && !in(eventspb.File_leases_proto) && !in(eventspb.File_jobs_proto) {
			t.Errorf("no schema has the message %s", name)
		}
	}
}
