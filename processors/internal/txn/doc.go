// Package txn handles the ends of transactions. It waits for acknowledgements, ends transactions
// that an earlier process left open, and finds hanging transactions: transactions that stay open in
// a partition although their coordinator has ended them (KIP-664).
package txn
