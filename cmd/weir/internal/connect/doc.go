// Package connect is what the commands of several nouns share: the way to the brokers, to the API
// of a running process and to the table of leases, the topics that a configuration needs, and the
// exit code and remedy of each error of package node.
package connect
