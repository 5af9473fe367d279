package dynamotest

import (
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// maxBody is the maximum size of a request, which is DynamoDB's.
const maxBody = 16 << 20

// Prefixes of the header X-Amz-Target.
const (
	itemTarget   = "DynamoDB_20120810."
	streamTarget = "DynamoDBStreams_20120810."
)

// server is the HTTP handler of a region.
type server struct {
	region  *Region
	items   map[string]operation
	streams map[string]operation
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "healthy: dynamodb."+s.region.name+".amazonaws.com ")
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		s.answer(w, nil, &wire.Error{Code: wire.Serialization, Message: "the request cannot be read: " + err.Error()})
		return
	}
	c := &call{cloud: s.region.cloud, region: s.region, body: body}
	out, err := s.dispatch(c, r)
	if c.delay > 0 {
		if err := c.cloud.clock.Sleep(r.Context(), time.Duration(c.delay)); err != nil {
			c.lost = true
		}
	}
	if c.lost && hangUp(w) {
		return
	}
	s.answer(w, out, err)
}

// readBody reads the body. Most requests state its length.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	in := http.MaxBytesReader(w, r.Body, maxBody)
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		return io.ReadAll(in)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(in, body)
	return body, err
}

// dispatch finds the operation and runs it.
func (s *server) dispatch(c *call, r *http.Request) ([]byte, error) {
	if err := s.authenticate(r); err != nil {
		return nil, err
	}
	target := r.Header.Get("X-Amz-Target")
	known := s.items
	if name, ok := strings.CutPrefix(target, streamTarget); ok {
		c.operation, c.streams, known = name, true, s.streams
	} else if name, ok := strings.CutPrefix(target, itemTarget); ok {
		c.operation = name
	} else {
		return nil, &wire.Error{
			Code: wire.UnknownOperation,
			Message: "dynamotest does not know the X-Amz-Target " + strconv.Quote(target) + ": send one that begins with " + itemTarget +
				" or " + streamTarget,
		}
	}
	op, ok := known[c.operation]
	if !ok {
		return nil, &wire.Error{
			Code:    wire.UnknownOperation,
			Message: "dynamotest does not support the operation " + c.operation + ": do without it, or use DynamoDB itself",
		}
	}
	c.batch = strings.HasPrefix(c.operation, "Batch")
	return c.run(op)
}

// authenticate checks the access key id of the request, if the configuration has one.
func (s *server) authenticate(r *http.Request) error {
	want := s.region.cloud.cfg.AccessKeyID
	if want == "" {
		return nil
	}
	_, credential, ok := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !ok {
		return &wire.Error{Code: wire.MissingToken, Message: "Request is missing Authentication Token"}
	}
	if id, _, _ := strings.Cut(credential, "/"); id != want {
		return &wire.Error{Code: wire.UnknownClient, Message: "The security token included in the request is invalid."}
	}
	return nil
}

// answer writes the answer or the error.
func (s *server) answer(w http.ResponseWriter, out []byte, err error) {
	status := http.StatusOK
	if err != nil {
		e := wire.From(err)
		status, out = e.Status(), e.AppendJSON(nil)
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/x-amz-json-1.0"}
	h["Content-Length"] = []string{strconv.Itoa(len(out))}
	h["X-Amz-Crc32"] = []string{strconv.FormatUint(uint64(crc32.ChecksumIEEE(out)), 10)}
	h["X-Amzn-Requestid"] = []string{s.region.cloud.requestID()}
	h["Date"] = []string{s.region.cloud.clock.Now().UTC().Format(http.TimeFormat)}
	w.WriteHeader(status)
	_, _ = w.Write(out) // the client may have closed the connection
}

// hangUp closes the connection without an answer. It returns false if the server does not permit
// that.
func hangUp(w http.ResponseWriter) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	_ = conn.Close() // the client sees the closed connection
	return true
}
