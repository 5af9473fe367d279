// Package topics has the commands about Kafka's topics: weir topics and weir lag.
package topics
