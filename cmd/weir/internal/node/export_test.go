package node

// Endpoint returns the address of the API for other processes.
func (n *Node) Endpoint() string { return n.endpoint }
