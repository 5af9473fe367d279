package node

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestInsertions: ads that a sink writes in one of two datacentres are read, in the partition of
// their account. A record that is not valid is left out, and a datacentre that does not answer
// holds up nothing.
func TestInsertions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout := events.Layout{Shards: 2}
		topic := events.InsertionsTopic
		eu, us := processorstest.NewRemote(t, 2, topic), processorstest.NewRemote(t, 2, topic)
		var log bytes.Buffer
		link := us.Link()
		tails := []*topicTail{
			newInsertionTail(eu.Link().Kafka, layout, "eu", zerolog.New(&log)), newInsertionTail(link.Kafka, layout, "us", zerolog.New(&log)),
		}
		ctx, cancel := context.WithCancel(t.Context())
		var got [2][]string
		ended := make(chan struct{})
		read := readInsertions(tails)
		for p := range int32(2) {
			go func() {
				read(ctx, p, func(m *eventspb.InsertionSums) {
					got[p] = append(got[p], fmt.Sprint(m.GetAccount(), " ", m.GetSequence(), " ", m.GetCampaigns()[0].GetExpectedMicros()))
				})
				ended <- struct{}{}
			}()
		}
		of := [2]string{} // an account of each partition
		for n := 0; of[0] == "" || of[1] == ""; n++ {
			id := fmt.Sprint("a", n)
			of[events.Shard(id, 2)] = id
		}
		<-time.After(3 * time.Second)
		sinks := []*insertionSink{newInsertionSink(eu.Link().Kafka, layout), newInsertionSink(us.Link().Kafka, layout)}
		write := func(sink int, sequence uint64) {
			t.Helper()
			var list []*eventspb.InsertionSums
			for _, account := range of {
				list = append(list, &eventspb.InsertionSums{
					Account: account, Reporter: "r", Sequence: sequence, Campaigns: []*eventspb.CampaignInsertions{{Campaign: "c", ExpectedMicros: 5}},
				})
			}
			if err := sinks[sink].Produce(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(sequences ...int) {
			t.Helper()
			<-time.After(3 * time.Second)
			synctest.Wait()
			for p := range got {
				var want []string
				for _, n := range sequences {
					want = append(want, fmt.Sprint(of[p], " ", n, " 5"))
				}
				if !slices.Equal(got[p], want) {
					t.Errorf("partition %d: %q, want %q\n%s", p, got[p], want, log.String())
				}
				got[p] = nil
			}
		}
		write(0, 1)
		expect(1)
		write(1, 2)
		expect(2)
		link.Cut()
		eu.Produce(topic, 0, stream.Message{Key: []byte("x"), Value: []byte{0xff}})
		write(0, 3)
		expect(3)
		if n := strings.Count(log.String(), "is left out"); n != 1 {
			t.Errorf("%d lines: %s", n, log.String())
		}
		for _, s := range sinks {
			s.Close()
		}
		cancel()
		<-ended
		<-ended
	})
}
