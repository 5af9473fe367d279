package agent

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/internal/dynoxide"
)

// The linearizability test on an independent implementation of DynamoDB, in real time. It may
// reject requests that dynamotest accepts by mistake.
func TestLinearizableDynoxide(t *testing.T) {
	endpoint := dynoxide.Endpoint(t, "run agents on it")
	const seed = 0
	r := linearDefaults(seed)
	r.agents, r.calls = 20, 12
	// Each duration exceeds what a busy machine may take for a request.
	r.shortest, r.longest, r.pause, r.skew, r.quarantine = time.Second, 3*time.Second, 800*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond
	client := dynamodb.New(dynamodb.Options{
		Region: linearRegion, BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("a", "a", ""),
	})
	nothing := func() error { return nil }
	history := r.history(t, linearTable{client: func() *dynamodb.Client { return client }, furnished: nothing, calmed: nothing})
	if v := r.verdict(history); v != "" {
		t.Errorf("seed %d: %s", seed, v)
	}
	outcomes := map[string]int{}
	for _, c := range history {
		outcomes[c.outcome()]++
	}
	if t.Log(outcomes); outcomes["get"] < len(history)/4 || outcomes["renew"] == 0 || outcomes["release"] == 0 {
		t.Errorf("seed %d: too few calls succeeded: %v", seed, outcomes)
	}
}
