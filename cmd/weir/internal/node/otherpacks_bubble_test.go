package node

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestOtherPacks: the packs of a partition are read that another datacentre writes from now on,
// committed ones alone. The reading goes on after an outage, continues in a topic that was created
// again, and behind a record that is not valid. A datacentre without the topic is not a problem.
func TestOtherPacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := events.PacingTopic("us")
		us, none := processorstest.NewRemote(t, 2, topic), processorstest.NewRemote(t, 2, "other")
		message := func(account string) stream.Message {
			value, err := proto.Marshal(&eventspb.AccountPack{Account: account})
			if err != nil {
				t.Fatal(err)
			}
			return stream.Message{Key: pacing.AppendPackKey([]byte{pacing.TablePacks}, account, 0), Value: value}
		}
		us.Produce(topic, 0, message("before"))
		var log bytes.Buffer
		link := us.Link()
		ctx, cancel := context.WithCancel(t.Context())
		layout := events.Layout{Shards: 2}
		var got [2][]string
		ended := make(chan struct{})
		read := readOtherPacks([]otherPacks{
			newOtherPacks("us", link.Kafka, layout, zerolog.New(&log)), newOtherPacks("ap", none.Link().Kafka, layout, zerolog.New(&log)),
		})
		for p := range int32(2) {
			go func() {
				read(ctx, p, func(m *eventspb.AccountPack) { got[p] = append(got[p], m.GetAccount()+" of "+m.GetWriterDc()) })
				ended <- struct{}{}
			}()
		}
		expect := func(what string, after time.Duration, want ...string) {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			if !slices.Equal(got[0], want) {
				t.Errorf("%s: %q, want %q\n%s", what, got[0], want, log.String())
			}
			got[0] = nil
		}
		expect("what was there before", 3*time.Second)
		us.Commit("pacing-us", topic, 0, message("a"), stream.Message{Key: []byte{pacing.TableLeaders, 0, 0, 0, 0}, Value: []byte{0xff}},
			stream.Message{Key: message("a").Key}, message("b"))
		us.Abort("pacing-us", topic, 0, message("aborted"))
		us.Produce(topic, 1, message("of the other partition"))
		expect("packs", 3*time.Second, "a of us", "b of us")

		link.Cut()
		us.Produce(topic, 0, message("c"))
		expect("during an outage", time.Minute)
		link.Heal()
		expect("after it", 20*time.Second, "c of us")
		if log.Len() > 0 {
			t.Errorf("%s", log.String())
		}

		us.Recreate(topic, 2)
		<-time.After(time.Minute)
		us.Produce(topic, 0, message("d"))
		expect("in a new topic", 3*time.Second, "d of us")
		if lines := strings.Count(log.String(), "other_packs_unread"); lines != 1 {
			t.Errorf("%d lines:\n%s", lines, log.String())
		}
		us.Produce(topic, 0, stream.Message{Key: message("e").Key, Value: []byte{0xff}})
		<-time.After(time.Minute)
		us.Produce(topic, 0, message("f"))
		expect("behind a record that is not valid", 3*time.Second, "f of us")
		if !strings.Contains(log.String(), "is the topic written by pacing?") {
			t.Errorf("%s", log.String())
		}
		if want := []string{"of the other partition of us"}; !slices.Equal(got[1], want) {
			t.Errorf("partition 1: %q, want %q", got[1], want)
		}
		cancel()
		<-ended
		<-ended
	})
	if readOtherPacks(nil) != nil {
		t.Error("something is read of no datacentre")
	}
}
