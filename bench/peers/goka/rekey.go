package main

import (
	"bytes"
	"hash"

	"github.com/IBM/sarama"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events"
)

// rekey gives each message of the log the key that it is summed under.
type rekey struct{}

// OnConsume changes m's key. A value that is no event keeps its own: the codec will say what is wrong with it.
func (rekey) OnConsume(m *sarama.ConsumerMessage) {
	var e events.View
	if e.Decode(m.Value) == nil {
		m.Key = totals.Key(make([]byte, 0, len(e.Account)+len(e.Campaign)+6), &e)
	}
}

// shard is a hash whose sum is the partition that weir gives to a spend key's account.
type shard struct{ key []byte }

func newShard() hash.Hash32 { return &shard{} }

// Write takes a part of the key.
func (s *shard) Write(p []byte) (int, error) {
	s.key = append(s.key, p...)
	return len(p), nil
}

// Reset begins another key.
func (s *shard) Reset() { s.key = s.key[:0] }

// Sum32 returns the partition.
func (s *shard) Sum32() uint32 {
	account, _, _ := bytes.Cut(s.key, []byte{0})
	return uint32(events.ShardBytes(account, events.DefaultShards))
}

// Sum appends the partition.
func (s *shard) Sum(b []byte) []byte { return append(b, byte(s.Sum32())) }

// Size is that of Sum.
func (s *shard) Size() int { return 1 }

// BlockSize is that of a hash without blocks.
func (s *shard) BlockSize() int { return 1 }
