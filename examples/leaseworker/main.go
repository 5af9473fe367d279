// Command leaseworker leases one resource of a pool and keeps it until it is interrupted: it renews
// the lease at half its term, stops work when the lease is lost, and releases it at the end.
//
// It prints a line for each event. With `weir dev`:
//
//	AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any go run ./examples/leaseworker -endpoint http://127.0.0.1:8000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/weirhq/weir/agent"
)

type worker struct {
	agent             *agent.Agent
	client, pool, key string
	term              time.Duration
}

func main() {
	region := flag.String("region", "eu-west-1", "region whose resources are leased")
	endpoint := flag.String("endpoint", "", "address of DynamoDB (default: that of AWS)")
	table := flag.String("table", "weir-leases", "table of the leases")
	var w worker
	flag.StringVar(&w.client, "client", "demo", "tenant")
	flag.StringVar(&w.pool, "pool", "demo", "pool of resources")
	flag.StringVar(&w.key, "key", "worker-1", "name for which the resource is leased")
	flag.DurationVar(&w.term, "term", time.Minute, "length of the lease")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := w.start(ctx, *region, *endpoint, *table); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

// start makes the agent and works until the context ends or the lease is lost.
func (w *worker) start(ctx context.Context, region, endpoint, table string) error {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	cfg := agent.Config{Region: region, Table: table, AWS: aws}
	if endpoint != "" {
		cfg.Endpoints = map[string]string{region: endpoint}
	}
	if w.agent, err = agent.New(cfg); err != nil {
		return err
	}
	defer w.agent.Close()
	lease, err := w.agent.GetLease(ctx, w.client, w.pool, w.key, time.Now().Add(w.term))
	if err != nil {
		return err
	}
	fmt.Println("leased", lease.Resource, "token", lease.Token)
	return w.hold(ctx, lease)
}

// hold renews the lease until the context ends, and then releases it.
func (w *worker) hold(ctx context.Context, lease agent.Lease) error {
	renew := time.NewTicker(w.term / 2)
	defer renew.Stop()
	lost := w.agent.Watch(ctx, lease) // renewals do not end it
	for {
		select {
		case <-ctx.Done():
			if err := w.agent.Release(context.WithoutCancel(ctx), lease); err != nil {
				return err
			}
			fmt.Println("released", lease.Resource)
			return nil
		case err, ok := <-lost:
			if !ok { // ctx has ended
				lost = nil
				continue
			}
			return fmt.Errorf("stop using %s: %w", lease.Resource, err)
		case <-renew.C:
			next, err := w.agent.Renew(ctx, lease, time.Now().Add(w.term))
			if errors.Is(err, agent.ErrUnavailable) || errors.Is(err, agent.ErrThrottled) || ctx.Err() != nil {
				continue // the lease is as it was: there is time to try again
			}
			if err != nil {
				return fmt.Errorf("stop using %s: %w", lease.Resource, err)
			}
			lease = next
			fmt.Println("renewed", lease.Resource, "token", lease.Token)
		}
	}
}
