// Package connect holds what several command groups share: connections to the brokers, to
// the API of a running process and to the lease table; the topics that a configuration needs; and
// the exit codes and remedies of the errors of node, processors, agent, admin and other packages.
package connect
