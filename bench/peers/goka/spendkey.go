package main

import (
	"bytes"
	"hash"

	"github.com/IBM/sarama"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events"
)

// spendKeys is an interceptor that sets the key of each message to its spend key.
type spendKeys struct{}

// OnConsume sets the key of m. A value that is not an event keeps its key: the codec reports the
// error.
func (spendKeys) OnConsume(m *sarama.ConsumerMessage) {
	var e events.View
	if e.Decode(m.Value) == nil {
		m.Key = totals.Key(make([]byte, 0, len(e.Account)+len(e.Campaign)+6), &e)
	}
}

// shard is a hash whose sum is the partition of a spend key's account in weir.
type shard struct{ key []byte }

func newShard() hash.Hash32 { return &shard{} }

// Write appends a part of the key.
func (s *shard) Write(p []byte) (int, error) {
	s.key = append(s.key, p...)
	return len(p), nil
}

// Reset discards the key.
func (s *shard) Reset() { s.key = s.key[:0] }

// Sum32 returns the partition.
func (s *shard) Sum32() uint32 {
	account, _, _ := bytes.Cut(s.key, []byte{0})
	return uint32(events.ShardBytes(account, events.DefaultShards))
}

// Sum appends the partition.
func (s *shard) Sum(b []byte) []byte { return append(b, byte(s.Sum32())) }

// Size returns the number of bytes of Sum.
func (s *shard) Size() int { return 1 }

// BlockSize returns 1, because the hash has no blocks.
func (s *shard) BlockSize() int { return 1 }
