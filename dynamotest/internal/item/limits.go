package item

// CheckSize returns the error for an item that is put and larger than MaxSize.
func (it Item) CheckSize() error {
	if it.Size() > MaxSize {
		return Invalid("Item size has exceeded the maximum allowed size")
	}
	return nil
}

// CheckUpdatedSize returns the error for an item that an update has made larger than MaxSize.
func (it Item) CheckUpdatedSize() error {
	if it.Size() > MaxSize {
		return Invalid("Item size to update has exceeded the maximum allowed size")
	}
	return nil
}

// CheckHashKey returns the error for a partition key that is too long.
func CheckHashKey(v Value) error {
	if v.Size() > MaxHashKey {
		return invalidParameter("Size of hashkey has exceeded the maximum size limit of2048 bytes") // so the service writes it
	}
	return nil
}

// CheckRangeKey returns the error for a sort key that is too long.
func CheckRangeKey(v Value) error {
	if v.Size() > MaxRangeKey {
		return invalidParameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}
