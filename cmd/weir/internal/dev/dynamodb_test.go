package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// serveDynamoDB runs the command and returns the addresses of its regions.
func serveDynamoDB(t *testing.T, regions int, flags ...string) (urls []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		args := append([]string{"dynamodb", "--regions", strconv.Itoa(regions), "--port", "0"}, flags...)
		code <- clitest.Execute(ctx, Commands, cli.Process{Args: args, Stdin: strings.NewReader(""), Stdout: in, Stderr: io.Discard})
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	for len(urls) < regions && lines.Scan() {
		_, url, ok := strings.Cut(lines.Text(), " at ")
		if !ok {
			t.Fatalf("line %q", lines.Text())
		}
		urls = append(urls, url)
	}
	t.Cleanup(func() {
		stop()
		if got := <-code; got != cli.ExitOK && got != cli.ExitInterrupted {
			t.Errorf("exit code %d", got)
		}
	})
	if len(urls) != regions {
		t.Fatal("the addresses of the regions were not printed")
	}
	return urls
}

// Two regions answer over HTTP. A table of one region is not in the other.
func TestDynamoDB(t *testing.T) {
	regions := serveDynamoDB(t, 2)
	const table = `{"TableName":"colours","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"name","KeyType":"HASH"}],` +
		`"AttributeDefinitions":[{"AttributeName":"name","AttributeType":"S"}]}`
	if got := callDynamoDB(t, regions[0], "CreateTable", table); !strings.Contains(got, `"colours"`) {
		t.Errorf("CreateTable: %s", got)
	}
	for i, want := range []string{`{"TableNames":["colours"]}`, `{"TableNames":[]}`} {
		if got := callDynamoDB(t, regions[i], "ListTables", "{}"); got != want {
			t.Errorf("region %d has %s, want %s", i, got, want)
		}
	}
}

// Records of streams can be read for --stream-retention.
func TestDynamoDBStreamRetention(t *testing.T) {
	for retention, want := range map[string]bool{"1ns": false, "24h": true} {
		url := serveDynamoDB(t, 1, "--profile", "ideal", "--stream-retention", retention)[0]
		var made struct {
			TableDescription struct{ LatestStreamArn string }
		}
		var stream struct {
			StreamDescription struct{ Shards []struct{ ShardID string } }
		}
		var iterator struct{ ShardIterator string }
		decode := func(operation, body string, v any) {
			t.Helper()
			if err := json.Unmarshal([]byte(callDynamoDB(t, url, operation, body)), v); err != nil {
				t.Fatalf("%s: %v", operation, err)
			}
		}
		decode("CreateTable", `{"TableName":"colours","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"name","KeyType":"HASH"}],`+
			`"AttributeDefinitions":[{"AttributeName":"name","AttributeType":"S"}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}}`, &made)
		if got := callDynamoDB(t, url, "PutItem", `{"TableName":"colours","Item":{"name":{"S":"red"}}}`); got != "{}" {
			t.Fatalf("PutItem: %s", got)
		}
		arn := made.TableDescription.LatestStreamArn
		decode("DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, arn), &stream)
		decode("GetShardIterator", fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":"TRIM_HORIZON"}`, arn, stream.StreamDescription.Shards[0].ShardID), &iterator)
		if got := callDynamoDB(t, url, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, iterator.ShardIterator)); strings.Contains(got, "red") != want {
			t.Errorf("with a retention of %s: %s", retention, got)
		}
	}
}

func callDynamoDB(t *testing.T, url, operation, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	api := "DynamoDB_20120810."
	if operation == "DescribeStream" || operation == "GetShardIterator" || operation == "GetRecords" {
		api = "DynamoDBStreams_20120810."
	}
	r.Header.Set("X-Amz-Target", api+operation)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDynamoDBUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--regions", "0"},
		{"--regions", "7"},
		{"--regions", "a,a"},
		{"--profile", "nice"},
		{"--host", "0.0.0.0"},
		{"--port", "65535", "--regions", "3"},
		{"--stream-retention", "0s"},
	} {
		if r := clitest.Run(t, Commands, nil, append([]string{"dynamodb"}, args...)...); r.Code == cli.ExitOK || r.Stderr == "" {
			t.Errorf("%v: code %d, %s", args, r.Code, r.Stderr)
		}
	}
}
