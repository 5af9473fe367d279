// Package dev has the commands that bring their own surroundings: weir dev, with Kafka and DynamoDB
// in the process, weir load and weir dynamodb.
package dev
