package connect

// ReadPages calls next with the limit of a page, most at the most, until limit rows are read or no
// page follows. next returns the number of rows of its page and the token of the page behind it,
// which ReadPages returns in the end.
func ReadPages(limit, most int, next func(limit int32) (rows int, token string, err error)) (token string, err error) {
	for read := 0; ; {
		n, token, err := next(int32(min(limit-read, most)))
		if read += n; err != nil || token == "" || read >= limit {
			return token, err
		}
	}
}
