package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// checkManifest reads the list of the database's files, which the database itself reads up to the first flipped bit as if it
// ended there: tables would be missing, and nobody would say so. An entry that was being written when the power or the disk
// went is no damage: nothing that counts on it was done yet.
func checkManifest(fs vfs.FS, dir string) (err error) {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || !desc.Exists {
		return err
	}
	f, err := fs.Open(desc.ManifestFilename)
	if err != nil {
		return fmt.Errorf("open the store's manifest: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read the store's manifest: %w", err)
	}
	if !validManifest(data) {
		return fmt.Errorf("%w: %s has an entry with another checksum than it was written with", errDamaged, path.Base(desc.ManifestFilename))
	}
	return nil
}

// A manifest is blocks of chunks, each with a header: checksum of the rest but the length, length, type. No chunk is in two blocks.
const (
	manifestBlock  = 32 << 10
	manifestHeader = 4 + 2 + 1
)

// validManifest tells whether every chunk is as it was written, the last one perhaps cut off.
func validManifest(data []byte) bool {
	for at := 0; at < len(data); {
		left := manifestBlock - at%manifestBlock
		if left < manifestHeader { // no room for another one
			at += left
			continue
		}
		if at+manifestHeader > len(data) {
			return true // its header is cut off
		}
		sum, n := binary.LittleEndian.Uint32(data[at:]), int(binary.LittleEndian.Uint16(data[at+4:]))
		kind, end := data[at+6], at+manifestHeader+n
		if kind < 1 || kind > 4 || end-at > left {
			return false
		}
		if end > len(data) {
			return !prefixHasChecksum(data[at+6:], sum)
		}
		if maskedCRC(crc32.Checksum(data[at+6:end], castagnoli())) != sum {
			return false
		}
		at = end
	}
	return true
}

// prefixHasChecksum tells whether some beginning of data has the checksum: then it is whole, and it is its length that is wrong.
func prefixHasChecksum(data []byte, sum uint32) bool {
	c := crc32.Checksum(data[:1], castagnoli())
	for i := 1; i < len(data); i++ {
		if maskedCRC(c) == sum {
			return true
		}
		c = crc32.Update(c, castagnoli(), data[i:i+1])
	}
	return maskedCRC(c) == sum
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// maskedCRC is what LevelDB and its descendants make of a CRC before they store it.
func maskedCRC(c uint32) uint32 { return (c>>15 | c<<17) + 0xa282ead8 }
