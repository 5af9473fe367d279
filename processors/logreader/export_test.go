package logreader

// QueueBytes returns the bytes of the records that wait for Next.
func (p *Partition) QueueBytes() int {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return p.bytes
}
