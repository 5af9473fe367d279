package leasetable

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/logging"
)

// Connection makes clients of regions.
type Connection struct {
	cfg       aws.Config
	endpoints map[string]string
}

// connections is how many are kept open to a region.
const connections = 64

// Connect reads the credentials by AWS's default chain: environment, files, roles. endpoints are URLs of those regions that
// are not AWS's own. Where all of them are on this machine no credentials are needed.
func Connect(ctx context.Context, endpoints map[string]string) (*Connection, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = connections
	})))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	cfg.Logger = logging.Nop{} // what matters comes back as an error
	local := len(endpoints) > 0
	for region, at := range endpoints {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("endpoint %q of region %s is no URL: write it as http://127.0.0.1:8000", at, region)
		}
		ip := net.ParseIP(u.Hostname())
		local = local && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
	}
	if local {
		cfg.Credentials = credentials.NewStaticCredentialsProvider("weir", "weir", "")
	}
	return &Connection{cfg, endpoints}, nil
}

// Client makes the DynamoDB client of a region.
func (c *Connection) Client(region string) *dynamodb.Client {
	return dynamodb.NewFromConfig(c.cfg, func(o *dynamodb.Options) {
		o.Region, o.BaseEndpoint = region, c.endpoint(region)
	})
}

// Streams makes the client of a region's streams.
func (c *Connection) Streams(region string) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(c.cfg, func(o *dynamodbstreams.Options) {
		o.Region, o.BaseEndpoint = region, c.endpoint(region)
	})
}

func (c *Connection) endpoint(region string) *string {
	if at := c.endpoints[region]; at != "" {
		return aws.String(at)
	}
	return nil
}
