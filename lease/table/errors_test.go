package table

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/lease"
)

// The error of a failed request is short and names the region. The SDK's own error is wrapped in
// it.
func TestErrorsInFewWords(t *testing.T) {
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	refuse := func(status int, text string) string {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		})
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shut := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hung := make(chan struct{})
	slow := serve(func(http.ResponseWriter, *http.Request) { <-hung })
	t.Cleanup(func() { close(hung) }) // before the server is closed
	const code = `{"__type":"com.amazonaws.dynamodb.v20120810#`
	for _, c := range []struct {
		name, at, want string
		is             error
	}{
		{"nothing listens", "http://" + shut, "eu: DynamoDB does not answer: nothing listens at " + shut, ErrUnavailable},
		{"no such host", "http://nowhere.invalid", "eu: DynamoDB does not answer: cannot resolve the host name nowhere.invalid", ErrUnavailable},
		{"slow", slow, "eu: DynamoDB does not answer: no answer in time", ErrUnavailable},
		{"cut", serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "eu: DynamoDB does not answer: the connection was closed", ErrUnavailable},
		{"broken", refuse(500, code+`InternalServerError","message":"oops"}`), "eu: DynamoDB does not answer: InternalServerError: oops", ErrUnavailable},
		{"throttled", refuse(400, code+`ThrottlingException","message":"slow down"}`), "eu: DynamoDB throttled the request: ThrottlingException: slow down", ErrThrottled},
		{
			"no table", refuse(400, code+`ResourceNotFoundException"}`),
			"eu: the table is missing or is not a valid lease table: leases: ResourceNotFoundException", ErrTable,
		},
		{
			"denied", refuse(400, code+`AccessDeniedException","Message":"you may not"}`),
			"eu: no access to DynamoDB: AccessDeniedException: you may not", ErrDenied,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "any")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
			connection, err := Connect(context.Background(), map[string]string{"eu": c.at})
			if err != nil {
				t.Fatal(err)
			}
			table := Table{Name: "leases", New: connection.Client, Timeout: 200 * time.Millisecond, Attempts: 1}
			_, err = table.Get(t.Context(), "eu", lease.RegionRow("eu"))
			if err == nil || err.Error() != c.want || !errors.Is(err, c.is) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if raw := SDKText(err); !strings.Contains(raw, "GetItem") {
				t.Errorf("raw: %s", raw)
			}
		})
	}
}

// Without credentials no request is sent.
func TestNoCredentials(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(name, "")
	}
	connection, err := Connect(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	table := Table{Name: "leases", New: connection.Client, Timeout: time.Second, Attempts: 1}
	if _, err = table.Get(t.Context(), "eu-west-1", lease.RegionRow("eu")); !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "no credentials found") {
		t.Error(err)
	}
}
