package acltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/kafka"
)

// Admin is the user who has every right. Password is the password of all users.
const (
	Admin    = "admin"
	Password = "password"
)

// Cluster is a broker with an authorizer and SASL PLAIN. A user other than Admin has only the
// rights that Grant adds.
type Cluster struct {
	// Brokers are the addresses.
	Brokers []string
	adm     *kadm.Client
}

// Start starts a broker with users until the test ends.
func Start(t testing.TB, users ...string) *Cluster {
	t.Helper()
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.EnableACLs(), kfake.EnableSASL(), kfake.Superuser("PLAIN", Admin, Password)}
	for _, user := range users {
		opts = append(opts, kfake.User("PLAIN", user, Password))
	}
	fake, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &Cluster{Brokers: fake.ListenAddrs()}
	k := c.As(t, Admin)
	cl, err := k.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	c.adm = kadm.NewClient(cl)
	return c
}

// As returns the cluster for the clients of a user.
func (c *Cluster) As(t testing.TB, user string) kafka.Cluster {
	t.Helper()
	k := kafka.Cluster{Brokers: c.Brokers}
	if err := k.WithSASL("PLAIN", func() (string, string, error) { return user, Password, nil }); err != nil {
		t.Fatal(err)
	}
	return k
}

// Grant gives a user the rights in lines, each in the syntax of kafka-acls.sh:
//
//	--topic ads.events --operation Read --operation Describe
func (c *Cluster) Grant(t testing.TB, user string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		b, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		results, err := c.adm.CreateACLs(t.Context(), b.Allow("User:"+user).AllowHosts())
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatalf("%s: %v", line, r.Err)
			}
		}
	}
}

// Revoke takes the rights in lines from a user.
func (c *Cluster) Revoke(t testing.TB, user string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		b, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		results, err := c.adm.DeleteACLs(t.Context(), b.Allow("User:"+user).AllowHosts("*"))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, r := range results {
			if r.Err != nil || len(r.Deleted) == 0 {
				t.Fatalf("%s: %d rights deleted, %v", line, len(r.Deleted), r.Err)
			}
		}
	}
}

// parse returns the resource and the operations of a line.
func parse(line string) (*kadm.ACLBuilder, error) {
	b := kadm.NewACLs().ResourcePatternType(kadm.ACLPatternLiteral)
	var operations []kadm.ACLOperation
	flag := ""
	for word := range strings.FieldsSeq(line) {
		switch {
		case word == "--cluster":
			b.Clusters()
		case strings.HasPrefix(word, "--"):
			flag = word
		case flag == "--topic":
			b.Topics(word)
		case flag == "--group":
			b.Groups(word)
		case flag == "--transactional-id":
			b.TransactionalIDs(word)
		case flag == "--resource-pattern-type" && word == "prefixed":
			b.ResourcePatternType(kadm.ACLPatternPrefixed)
		case flag == "--operation":
			o, err := kmsg.ParseACLOperation(word)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			operations = append(operations, o)
		default:
			return nil, fmt.Errorf("%s: what is %s %s?", line, flag, word)
		}
	}
	return b.Operations(operations...), nil
}
