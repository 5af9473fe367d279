package devbroker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// intent is a commit that the broker has begun or is about to begin.
type intent struct {
	ProducerID int64    `json:"pid"`
	Epoch      int16    `json:"epoch"`
	Offsets    []commit `json:"offsets"`
}

// commit is an offset that a group commits.
type commit struct {
	Group       string `json:"group"`
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Metadata    string `json:"metadata"`
}

// journal is a write-ahead log of one commit. kfake ends a transaction with many writes, a marker
// in each partition and then each offset of the group. A kill between two writes would leave the
// transaction committed in some places and aborted in the others. kfake handles one request at a
// time, so there is one such commit at most and one slot is enough. The file exists while a broker
// runs: a file that is found at the start means that its writer was killed.
type journal struct {
	path string
	log  zerolog.Logger

	mu     sync.Mutex
	file   *os.File
	staged map[int64]*intent // offsets of open transactions, by producer id
}

func newJournal(dir string, log zerolog.Logger) *journal {
	return &journal{path: filepath.Join(dir, "commit.journal"), log: log, staged: map[int64]*intent{}}
}

// read returns the slot; the intent is nil if the slot is empty. died means that the last user of
// the directory did not close it.
func (j *journal) read() (in *intent, died bool, err error) {
	raw, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if len(raw) < 4 || binary.LittleEndian.Uint32(raw) != crc32.Checksum(raw[4:], castagnoli()) {
		return nil, true, nil // killed during the write: the commit had not begun
	}
	in = &intent{}
	if err := json.Unmarshal(raw[4:], in); err != nil {
		return nil, true, fmt.Errorf("read %s: %w", j.path, err)
	}
	return in, true, nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// begin creates the empty slot.
func (j *journal) begin() (err error) {
	j.file, err = os.OpenFile(j.path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	return err
}

// end removes the slot after everything is on disk.
func (j *journal) end() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := errors.Join(j.file.Close(), os.Remove(j.path))
	j.file = nil
	return err
}

// watch installs handlers for the requests of a commit. They run just before kfake handles the
// request.
func (j *journal) watch(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.TxnOffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if r, ok := req.(*kmsg.TxnOffsetCommitRequest); ok {
			j.stage(c, r)
		}
		return nil, nil, false
	})
	c.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if r, ok := req.(*kmsg.EndTxnRequest); ok {
			j.recordCommit(r)
		}
		return nil, nil, false
	})
}

func (j *journal) stage(c *kfake.Cluster, r *kmsg.TxnOffsetCommitRequest) {
	j.mu.Lock()
	defer j.mu.Unlock()
	in := j.staged[r.ProducerID]
	if in == nil || in.Epoch != r.ProducerEpoch {
		in = &intent{ProducerID: r.ProducerID, Epoch: r.ProducerEpoch}
		j.staged[r.ProducerID] = in
	}
	for _, t := range r.Topics {
		name := t.Topic
		if info := c.TopicIDInfo(t.TopicID); name == "" && info != nil {
			name = info.Topic
		}
		for _, p := range t.Partitions {
			m := ""
			if p.Metadata != nil {
				m = *p.Metadata
			}
			in.Offsets = append(in.Offsets, commit{r.Group, name, p.Partition, p.Offset, p.LeaderEpoch, m})
		}
	}
}

// recordCommit writes the slot before a commit. Clients before transactions v2 do not raise their
// epoch with each transaction, so that two transactions cannot be distinguished: their commits are
// not protected.
func (j *journal) recordCommit(r *kmsg.EndTxnRequest) {
	j.mu.Lock()
	defer j.mu.Unlock()
	in := j.staged[r.ProducerID]
	delete(j.staged, r.ProducerID)
	if !r.Commit || r.Version < 5 || j.file == nil {
		return
	}
	if in == nil || in.Epoch != r.ProducerEpoch {
		in = &intent{ProducerID: r.ProducerID, Epoch: r.ProducerEpoch}
	}
	if err := j.write(in); err != nil {
		j.log.Error().Err(err).Msg("journal_failed")
	}
}

func (j *journal) write(in *intent) error {
	doc, err := json.Marshal(in)
	if err != nil {
		return err
	}
	raw := append(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(doc, castagnoli())), doc...)
	if err := j.file.Truncate(0); err != nil {
		return err
	}
	_, err = j.file.WriteAt(raw, 0)
	return err
}
