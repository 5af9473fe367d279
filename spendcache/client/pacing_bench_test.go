package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
)

// one answers each request with the same bytes.
type one []byte

// RoundTrip implements http.RoundTripper.
func (b one) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/proto"}},
		Body: io.NopCloser(strings.NewReader(string(b))), ContentLength: int64(len(b)), Request: r,
	}, nil
}

// BenchmarkDecide is a decision from memory, for an account with 100 campaigns.
func BenchmarkDecide(b *testing.B) {
	m := &weirpb.GetParametersResponse{Account: "acme", WriterDc: "eu", TickMs: 1}
	for n := range 100 {
		m.Campaigns = append(m.Campaigns, &weirpb.CampaignParameters{
			Id: fmt.Sprintf("campaign-%03d", n), Open: true, Probability: 0.5, Multiplier: 1, Reason: "behind_plan",
		})
	}
	answer, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	c, err := New(Config{Endpoints: []string{"https://eu"}, Transport: one(answer)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ad := Ad{Account: "acme", Campaign: "campaign-042", Request: "0192f0c1-7a2b-7c3d-8e4f-5a6b7c8d9e0f"}
	for b.Loop() {
		if d := c.Decide(b.Context(), ad); d.Reason != "behind_plan" {
			b.Fatalf("%+v", d)
		}
	}
}
