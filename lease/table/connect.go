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

// Connection makes the DynamoDB clients of regions.
type Connection struct {
	cfg       aws.Config
	endpoints map[string]string
}

// connections is the number of idle connections that are kept to a region.
const connections = 64

// Connect loads credentials by the default chain of the AWS SDK: environment, files, roles.
// endpoints holds the URLs of regions that are not at AWS's own address, by region. For an endpoint
// on this machine, credentials are made up if the environment names none.
func Connect(ctx context.Context, endpoints map[string]string) (*Connection, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = connections
		})))
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w: %w", ErrDenied, err)
	}
	cfg.Logger = logging.Nop{} // errors carry all that matters
	for region, at := range endpoints {
		if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("endpoint %q of region %s is not a URL: write it as http://127.0.0.1:8000", at, region)
		}
	}
	return &Connection{cfg, endpoints}, nil
}

// ConnectWith is Connect with the caller's HTTP client, for example one whose connections are in
// memory.
func ConnectWith(ctx context.Context, client *http.Client, endpoints map[string]string) (*Connection, error) {
	c, err := Connect(ctx, endpoints)
	if err == nil {
		c.cfg.HTTPClient = client // set after loading: the default chain may add a root certificate to its own client
	}
	return c, err
}

// Client returns a DynamoDB client of a region.
func (c *Connection) Client(region string) *dynamodb.Client {
	return dynamodb.NewFromConfig(c.cfg, func(o *dynamodb.Options) {
		o.Region, o.BaseEndpoint = region, c.endpoint(region)
		if c.local(region) {
			o.Credentials = anyCredentials()
		}
	})
}

// Streams returns a DynamoDB Streams client of a region.
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

// local reports whether the endpoint of a region is on this machine and the environment names no
// credentials.
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
