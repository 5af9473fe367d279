package spend

import (
	"testing"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// TestAuditClusters: a datacentre whose brokers are not known is reported as not read, and does not
// prevent that the others are read.
func TestAuditClusters(t *testing.T) {
	cfg := &config.Config{DC: "eu", DCs: []config.DC{{Name: "eu"}, {Name: "us"}}}
	clusters := auditClusters(cfg, kafka.Cluster{})
	if len(clusters) != 2 || clusters[0].dc != "eu" || clusters[0].err != nil {
		t.Fatalf("%+v", clusters)
	}
	read, failed := readAudits(t.Context(), clusters[1:], kafkaadmin.TopicRange{}, func(*eventspb.SpendAudit) { t.Error("a record") })
	if len(read) != 0 || len(failed) != 1 || failed[0].dc != "us" {
		t.Errorf("read %v, failed %+v", read, failed)
	}
}
