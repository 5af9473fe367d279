package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const headerSize = 12

// maxEntry bounds what a damaged length can make us allocate. No item is above 400 KB.
const maxEntry = 64 << 20

// errTorn means that a file ends inside an entry.
var errTorn = errors.New("the file ends inside an entry")

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendFrame appends the entry as it is stored.
func appendFrame(dst, entry []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(entry)))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[at:at+4]))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(entry))
	return append(dst, entry...)
}

// readFrames calls each with each entry of r, whose bytes are valid during the call. It returns where the last whole entry ends.
// errTorn if r ends inside an entry.
func readFrames(r io.Reader, each func(entry []byte) error) (end int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var header [headerSize]byte
	var entry []byte
	for {
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return end, torn(err, io.EOF)
		}
		n := binary.LittleEndian.Uint32(header[:])
		if binary.LittleEndian.Uint32(header[4:]) != checksum(header[:4]) || n > maxEntry {
			return end, fmt.Errorf("the entry at byte %d is damaged: its length does not fit its checksum", end)
		}
		if cap(entry) < int(n) {
			entry = make([]byte, n)
		}
		entry = entry[:n]
		if _, err := io.ReadFull(in, entry); err != nil {
			return end, torn(err, nil)
		}
		if binary.LittleEndian.Uint32(header[8:]) != checksum(entry) {
			return end, fmt.Errorf("the entry at byte %d is damaged: it does not fit its checksum", end)
		}
		if err := each(entry); err != nil {
			return end, fmt.Errorf("the entry at byte %d: %w", end, err)
		}
		end += headerSize + int64(n)
	}
}

// torn tells what the end of a file means: nothing if it is where an entry may end.
func torn(err, fine error) error {
	switch {
	case fine != nil && errors.Is(err, fine):
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errTorn
	default:
		return err
	}
}
