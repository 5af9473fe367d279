package table

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

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
// are not AWS's own. Those on this machine need none: any are sent where the environment names none.
func Connect(ctx context.Context, endpoints map[string]string) (*Connection, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = connections
	})))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	cfg.Logger = logging.Nop{} // what matters comes back as an error
	for region, at := range endpoints {
		if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("endpoint %q of region %s is no URL: write it as http://127.0.0.1:8000", at, region)
		}
	}
	return &Connection{cfg, endpoints}, nil
}

// ConnectWith is Connect with an HTTP client of the caller's, such as one whose connections are in memory.
func ConnectWith(ctx context.Context, client *http.Client, endpoints map[string]string) (*Connection, error) {
	c, err := Connect(ctx, endpoints)
	if err == nil {
		c.cfg.HTTPClient = client // the default chain has asked by its own: it may want to add a root certificate to it
	}
	return c, err
}

// Client makes the DynamoDB client of a region.
func (c *Connection) Client(region string) *dynamodb.Client {
	return dynamodb.NewFromConfig(c.cfg, func(o *dynamodb.Options) {
		o.Region, o.BaseEndpoint = region, c.endpoint(region)
		if c.local(region) {
			o.Credentials = anyCredentials()
		}
	})
}

// Streams makes the client of a region's streams.
func (c *Connection) Streams(region string) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(c.cfg, func(o *dynamodbstreams.Options) {
		o.Region, o.BaseEndpoint = region, c.endpoint(region)
		if c.local(region) {
			o.Credentials = anyCredentials()
		}
	})
}

func anyCredentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("weir", "weir", "")
}

// local says whether a region is on this machine, and nobody named credentials for it.
func (c *Connection) local(region string) bool {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		if os.Getenv(name) != "" {
			return false
		}
	}
	u, err := url.Parse(c.endpoints[region])
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *Connection) endpoint(region string) *string {
	if at := c.endpoints[region]; at != "" {
		return aws.String(at)
	}
	return nil
}
