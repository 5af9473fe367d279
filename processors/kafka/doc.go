// Package kafka connects to the brokers, for all code that needs no runtime: clients, TLS and SASL,
// an idempotent producer, end offsets, and the features of the brokers.
//
//	Cluster{Brokers, Options} ─▶ Client ─▶ franz-go
//	                          ─▶ Connect: a client of which a broker has answered
//	                          ─▶ NewProducer, EndOffsets, TransactionVersion
package kafka
