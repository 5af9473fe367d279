// Package topics has the commands about Kafka topics: weir topics and weir lag.
package topics
