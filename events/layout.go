package events

import (
	"strconv"
	"strings"
)

// Layout says over how many shards the accounts are spread, and in which topics that is. The number is part of the data:
// another one means other topics, with every account's state moved to them. These are the next generation; the former one
// stays as it is until somebody deletes it. The zero value is the default.
type Layout struct {
	// Shards is the number of partitions of every topic. Defaults to DefaultShards.
	Shards int32
	// Generation of the topics and of the application. Defaults to 1, whose names are plain.
	Generation int
}

// Partitions is the number of shards.
func (l Layout) Partitions() int32 {
	if l.Shards == 0 {
		return DefaultShards
	}
	return l.Shards
}

// Name is what a topic, or an application, of generation 1 is called in this one: "ads.events" is "ads.events.g2" in the
// second. Names of datacentres have no dots, so none of generation 1 ends like that.
func (l Layout) Name(first string) string {
	if l.Generation <= 1 {
		return first
	}
	return first + generationMark + strconv.Itoa(l.Generation)
}

const generationMark = ".g"

// OfAnyGeneration tells whether name is what Name makes of first in some generation.
func OfAnyGeneration(name, first string) bool {
	return name == first || strings.HasPrefix(name, first+generationMark)
}
