// Package connect holds what several command groups share: connections to the brokers, to
// the API of a running process and to the lease table; the topics that a configuration needs; and
// the exit code and remedy of each error of the packages node, processors, agent and admin.
package connect
