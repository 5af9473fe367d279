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

// A complete client: lease a resource for a key, use it, release it.
func Example() {
	ctx := context.Background()
	a, err := agent.New(agent.Config{
		Region: "eu-west-1",
		AWS:    aws.Config{}, // from config.LoadDefaultConfig of package aws-sdk-go-v2/config
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	lease, err := a.GetLease(ctx, "ads", "tracking-ids", "visitor-17", time.Now().Add(30*time.Minute))
	var exhausted *agent.ExhaustedError
	switch {
	case errors.As(err, &exhausted):
		log.Printf("no free resource: retry after %v", exhausted.RetryAfter)
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

// A long-lived holder renews well before the deadline, and stops as soon as the lease is lost.
func ExampleAgent_Watch() {
	var a *agent.Agent // from agent.New
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
				continue // the lease is unchanged: retry at the next tick
			}
			if err != nil {
				log.Print("stop using ", lease.Resource, ": ", err)
				return
			}
			lease = next
		}
	}
}
