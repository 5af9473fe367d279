package events

import (
	"strconv"
	"strings"
)

// Layout is the number of shards over which the accounts are spread, and the generation of topics
// that holds them. The number of shards is part of the data: a repartition to another number
// creates the topics of the next generation and moves every account's state there. The topics of
// the former generation stay until an operator deletes them. The zero value is the default layout.
type Layout struct {
	// Shards is the number of partitions of every topic, at most MaxShards. Defaults to
	// DefaultShards.
	Shards int32
	// Generation is the number of the generation of topics and of the application. Defaults to 1,
	// whose names have no suffix.
	Generation int
	// Prefix begins all names. Defaults to none. Benchmarks have one, so that they share no topic
	// with an application on the same brokers.
	Prefix string
}

// Partitions returns the number of shards: Shards, or DefaultShards if Shards is zero.
func (l Layout) Partitions() int32 {
	if l.Shards == 0 {
		return DefaultShards
	}
	return l.Shards
}

// Name adds the prefix, and the suffix of the generation, to first, the name of a topic or
// application in generation 1: "ads.events" is "ads.events.g2" in generation 2. Names of
// datacentres contain no dots, so no name of generation 1 ends with such a suffix.
func (l Layout) Name(first string) string {
	if l.Generation <= 1 {
		return l.Prefix + first
	}
	return l.Prefix + first + generationMark + strconv.Itoa(l.Generation)
}

const generationMark = ".g"

// IsAnyGenerationOf reports whether name is the name of first in some generation.
func IsAnyGenerationOf(name, first string) bool {
	return name == first || strings.HasPrefix(name, first+generationMark)
}
