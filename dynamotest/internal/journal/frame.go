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

// maxEntry bounds the memory that a damaged length can cause to be allocated. An item has at most
// 400 KB.
const maxEntry = 64 << 20

// remedy ends the text of an error about damage.
const remedy = ": restore the directory from a copy, or remove it to start without its entries"

// errTorn means that a file ends inside an entry.
var errTorn = errors.New("the file ends inside an entry")

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendFrame appends the entry in its stored form.
func appendFrame(dst, entry []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(entry)))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[at:at+4]))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(entry))
	return append(dst, entry...)
}

// readFrames calls each with every entry of r. The bytes are valid during the call. It returns the
// offset after the last whole entry. The error is errTorn if r ends inside an entry.
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
			return end, fmt.Errorf("the entry at byte %d is damaged: its length does not match its checksum%s", end, remedy)
		}
		if cap(entry) < int(n) {
			entry = make([]byte, n)
		}
		entry = entry[:n]
		if _, err := io.ReadFull(in, entry); err != nil {
			return end, torn(err, nil)
		}
		if binary.LittleEndian.Uint32(header[8:]) != checksum(entry) {
			return end, fmt.Errorf("the entry at byte %d is damaged: it does not match its checksum%s", end, remedy)
		}
		if err := each(entry); err != nil {
			return end, fmt.Errorf("the entry at byte %d: %w", end, err)
		}
		end += headerSize + int64(n)
	}
}

// torn converts an error of a read at the end of a file: nil for atBoundary, which is the error if
// the file may end there, and errTorn if the file ends inside an entry.
func torn(err, atBoundary error) error {
	switch {
	case atBoundary != nil && errors.Is(err, atBoundary):
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errTorn
	default:
		return err
	}
}
