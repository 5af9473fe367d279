// Package kafka is the way to the brokers for everything that needs no runtime: the connection, its security, a producer of whole
// batches, end offsets and the features of the brokers.
//
//	Cluster{Brokers, Options} ─▶ Client ─▶ franz-go
//	                          ─▶ NewProducer, EndOffsets, TransactionVersion
package kafka
