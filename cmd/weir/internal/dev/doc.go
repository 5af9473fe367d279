// Package dev has the commands for development: weir dev, which runs everything with Kafka and
// DynamoDB in one process, weir load and weir dynamodb.
package dev
