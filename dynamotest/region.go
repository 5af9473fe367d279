package dynamotest

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// account is the AWS account number in all ARNs.
const account = "000000000000"

// Region is one region of a cloud, with its own tables, endpoint and clients.
type Region struct {
	cloud  *Cloud
	name   string
	server *server
	memory *memory

	// Guarded by the cloud's mutex.
	tables  map[string]*liveTable
	streams []*liveStream // enabled and disabled streams that still have records, oldest first
}

func newRegion(c *Cloud, name string) *Region {
	r := &Region{cloud: c, name: name, tables: map[string]*liveTable{}}
	r.server = &server{region: r, items: operations(), streams: streamOperations()}
	r.memory = newMemory(r.server)
	return r
}

// Name returns the region's name.
func (r *Region) Name() string { return r.name }

// Handler returns the HTTP handler of the region's DynamoDB and DynamoDB Streams. It answers every
// caller; Serve also rejects web pages.
func (r *Region) Handler() http.Handler { return r.server }

// HTTPClient returns a client that connects to the region in memory, whatever the address of the
// request.
func (r *Region) HTTPClient() *http.Client { return &http.Client{Transport: r.memory} }

// Client returns a client of the region's DynamoDB over connections in memory. options are applied
// last. The SDK's client retries requests that fail: to see each fault, set Retryer to
// aws.NopRetryer{}.
func (r *Region) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.NewFromConfig(r.AWS(), options...)
}

// StreamsClient returns a client of the region's DynamoDB Streams, as Client does.
func (r *Region) StreamsClient(options ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(r.AWS(), options...)
}

// AWS returns the configuration of the SDK's clients of the region, over connections in memory.
func (r *Region) AWS() aws.Config {
	key := r.cloud.cfg.AccessKeyID
	if key == "" {
		key = "dynamotest"
	}
	return aws.Config{
		Region:       r.name,
		BaseEndpoint: aws.String("http://dynamodb." + r.name + ".dynamotest"),
		Credentials:  credentials.NewStaticCredentialsProvider(key, "secret", ""),
		HTTPClient:   r.HTTPClient(),
	}
}

func (r *Region) arn(kind string) string {
	return "arn:aws:dynamodb:" + r.name + ":" + account + ":table/" + kind
}
