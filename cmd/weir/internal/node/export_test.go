package node

// Endpoint is where other processes reach the API of n.
func (n *Node) Endpoint() string { return n.endpoint }
