package dev

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// Two regions answer over HTTP. A table of one region is not in the other.
func TestDynamoDB(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- clitest.Execute(ctx, Commands, cli.Process{Args: []string{"dynamodb", "--regions", "2", "--port", "0"}, Stdin: strings.NewReader(""), Stdout: in, Stderr: io.Discard})
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	var regions []string
	for len(regions) < 2 && lines.Scan() {
		_, url, ok := strings.Cut(lines.Text(), " at ")
		if !ok {
			t.Fatalf("line %q", lines.Text())
		}
		regions = append(regions, url)
	}
	if len(regions) != 2 {
		t.Fatal("the addresses of the regions were not printed")
	}
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
	stop()
	if got := <-code; got != cli.ExitOK && got != cli.ExitInterrupted {
		t.Errorf("exit code %d", got)
	}
}

func callDynamoDB(t *testing.T, url, operation, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
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
		{"--regions", "0"}, {"--regions", "7"}, {"--regions", "a,a"}, {"--profile", "nice"}, {"--host", "0.0.0.0"}, {"--port", "65535", "--regions", "3"},
	} {
		if r := clitest.Run(t, Commands, nil, append([]string{"dynamodb"}, args...)...); r.Code == cli.ExitOK || r.Stderr == "" {
			t.Errorf("%v: code %d, %s", args, r.Code, r.Stderr)
		}
	}
}
