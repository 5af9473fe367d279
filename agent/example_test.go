package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/weirhq/weir/agent"
)

// The whole of a client: lease a resource for a key, use it, give it back.
func Example() {
	ctx := context.Background()
	a, err := agent.New(agent.Config{
		Region: "eu-west-1",
		AWS:    aws.Config{}, // of config.LoadDefaultConfig, in package aws-sdk-go-v2/config
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	lease, err := a.GetLease(ctx, "ads", "tracking-ids", "visitor-17", time.Now().Add(30*time.Minute))
	var exhausted *agent.ExhaustedError
	switch {
	case errors.As(err, &exhausted):
		log.Printf("none left, again in %v", exhausted.RetryAfter)
		return
	case err != nil:
		log.Print(err)
		return
	}
	fmt.Println("use", lease.Resource, "until", lease.Deadline)
	if err := a.Release(ctx, lease); err != nil {
		log.Print(err)
	}
}

// A long-lived holder renews well before the deadline, and stops at once when the lease is lost.
func ExampleAgent_Watch() {
	var a *agent.Agent // of agent.New
	var lease agent.Lease
	ctx := context.Background()

	lost := a.Watch(ctx, lease)
	renew := time.NewTicker(10 * time.Minute)
	defer renew.Stop()
	for {
		select {
		case err := <-lost:
			log.Print("stop using ", lease.Resource, ": ", err)
			return
		case <-renew.C:
			next, err := a.Renew(ctx, lease, time.Now().Add(30*time.Minute))
			if errors.Is(err, agent.ErrUnavailable) || errors.Is(err, agent.ErrThrottled) {
				continue // the lease is as it was: there is time to try again
			}
			if err != nil {
				log.Print("stop using ", lease.Resource, ": ", err)
				return
			}
			lease = next
		}
	}
}
