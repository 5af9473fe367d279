// Package txn is about the ends of transactions: it waits for acknowledgements, ends transactions that an earlier process left open,
// and finds transactions that hang in a partition although their coordinator has ended them (KIP-664).
package txn
