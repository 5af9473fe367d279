package api_test

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// store is the committed state of the runtime.
type store struct{}

func (store) Spend(_ context.Context, q api.SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	at := &weirpb.AsOf{Partition: 5, NextOffsets: map[string]int64{"ads.events": 220156}, AppliedMs: 1700000000500}
	read := []*weirpb.AsOf{at}
	if q.Campaign != "1458" {
		return read, nil
	}
	return read, fn(&eventspb.Spend{
		Account: "ipinyou", Campaign: "1458", BudgetDay: 20131019, Currency: "CNY", AsOfMs: 1382198400123,
		ByDc: []*eventspb.SpendByDC{{ServingDc: "local", ChargedMicros: 147125090, Events: []*eventspb.TypeCount{
			{Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, Count: 220000},
			{Type: eventspb.EventType_EVENT_TYPE_CLICK, Count: 156},
		}}},
	}, at)
}

func (store) WaitProduced(context.Context, string) error                         { return nil }
func (store) Health(context.Context, func(*eventspb.SpendHistogram) error) error { return nil }
func (store) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	return &weirpb.GetClusterResponse{Dc: "local"}, nil
}

// A process serves its state, and the CLI reads it.
func Example() {
	server, err := api.New(api.Config{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", Spend: store{}, Cluster: store{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	select {
	case <-server.Ready():
	case err := <-done:
		fmt.Println(err)
	}

	client := api.NewClient(server.Addr())
	res, err := client.GetSpend(ctx, &weirpb.GetSpendRequest{Campaign: "1458"})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(render.SpendTable(res, render.AsOfFormat{Wide: true}))
	_, err = client.GetSpend(ctx, &weirpb.GetSpendRequest{Campaign: "1459"})
	fmt.Println(err)

	client.Close()
	stop()
	fmt.Println(<-done)
	// Output:
	// campaign      1458
	// account       ipinyou
	// day           2013-10-19
	// charged       147.125090 CNY
	// refunded      0.000000 CNY
	// events        220156
	//   click       156
	//   impression  220000
	// duplicates    0 (not charged)
	// as of         partition 5 ads.events@220156, events up to 2013-10-19T16:00:00.123Z, applied 2023-11-14T22:13:20.500Z
	//
	// campaign "1459" has no spend in datacentre local, as of partition 5 (ads.events up to offset 220156): check the id; events that were produced just now may not be counted yet
	// <nil>
}
