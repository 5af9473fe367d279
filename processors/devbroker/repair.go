package devbroker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
)

// maxBatchAge is the age of a partition's newest batch from which repair appends a batch without
// records: a partition whose last batch expires would begin at offset 0 after the next restart. All
// retentions are longer.
const maxBatchAge = 12 * time.Hour

// repair commits or aborts every transaction as a whole and makes sure that every partition has an
// end offset. It changes the files of kfake before kfake reads them.
func repair(dir string, j *journal, log zerolog.Logger) error {
	in, died, err := j.read()
	if err != nil {
		return err
	}
	if err := restoreBackup(dir); err != nil {
		return err
	}
	kafka := filepath.Join(dir, "kafka")
	parts, err := partitions(kafka)
	if err != nil {
		return err
	}
	if died {
		for _, p := range parts {
			if err := p.cutTail(); err != nil {
				return err
			}
		}
		for _, name := range []string{"groups.log", "pids.log"} {
			if err := cutLog(filepath.Join(kafka, name)); err != nil {
				return err
			}
		}
		if err := endOpenTransactions(kafka, parts, in, log); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if err := p.refresh(time.Now()); err != nil {
			return err
		}
	}
	if died {
		log.Info().Msg("data_directory_repaired")
	}
	return j.begin()
}

// partitions opens all partition directories. A new data directory has none.
func partitions(kafka string) ([]*partition, error) {
	dirs, err := os.ReadDir(filepath.Join(kafka, "partitions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*partition
	for _, d := range dirs {
		p, err := openPartition(filepath.Join(kafka, "partitions", d.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// producerEntry is an entry of kfake's log of producers.
type producerEntry struct {
	Type    string `json:"type"` // init: an epoch begins; endtx: a transaction of the epoch has ended
	PID     int64  `json:"pid"`
	Epoch   int16  `json:"epoch"`
	TxID    string `json:"txid,omitempty"`
	Timeout int32  `json:"timeout,omitempty"`
}

// endOpenTransactions ends every open transaction: the transaction of the intent is committed if
// the broker was killed during that commit, all others are aborted. kfake would treat them as
// aborted, too, but without markers. A client that reads an aborted transaction drops everything of
// the producer up to the marker, including what the producer committed later.
func endOpenTransactions(kafka string, parts []*partition, in *intent, log zerolog.Logger) error {
	producers, err := readProducers(filepath.Join(kafka, "pids.log"))
	if err != nil {
		return err
	}
	// kfake writes the end of a transaction after all its parts, and a new epoch after that or when
	// another client acquires the transactional id. It was killed during the commit if the last
	// entry begins the epoch of the intent.
	begun := in != nil && producers[in.ProducerID].Type == "init" && producers[in.ProducerID].Epoch == in.Epoch
	var committed, aborted int
	fenced := map[int64]bool{}
	for _, p := range parts {
		open, err := p.open()
		if err != nil {
			return err
		}
		for who := range open {
			m := marker{pid: who.id, epoch: who.epoch, at: time.Now()}
			if m.commit = begun && who == (producer{in.ProducerID, in.Epoch}); m.commit {
				committed++
			} else {
				aborted++
				fenced[who.id] = true
			}
			if err := p.appendMarker(m); err != nil {
				return err
			}
		}
	}
	if begun {
		log.Info().Int64("producer", in.ProducerID).Int("markers", committed).Int("offsets", len(in.Offsets)).Msg("commit_finished")
		if err := appendLog(filepath.Join(kafka, "groups.log"), groupEntries(in.Offsets)); err != nil {
			return err
		}
		fenced[in.ProducerID] = true
	}
	if len(fenced) > 0 {
		log.Info().Int("producers", len(fenced)).Int("markers", aborted).Msg("transactions_aborted")
	}
	return bumpEpochs(filepath.Join(kafka, "pids.log"), producers, fenced)
}

func readProducers(path string) (map[int64]producerEntry, error) {
	docs, err := readLog(path)
	if err != nil {
		return nil, err
	}
	out := map[int64]producerEntry{}
	for _, d := range docs {
		var e producerEntry
		if err := json.Unmarshal(d, &e); err != nil {
			return nil, fmt.Errorf("read pids.log: %w", err)
		}
		if e.Type != "init" { // an endtx entry does not repeat the name of the producer
			e.TxID, e.Timeout = out[e.PID].TxID, out[e.PID].Timeout
		}
		out[e.PID] = e
	}
	return out, nil
}

// bumpEpochs begins a new epoch for producers whose transaction was ended here: a producer that
// still runs in another process must not continue the transaction.
func bumpEpochs(path string, producers map[int64]producerEntry, who map[int64]bool) error {
	var docs [][]byte
	for id := range who {
		e, known := producers[id]
		if !known {
			continue
		}
		e.Type, e.Epoch = "init", e.Epoch+1
		doc, err := json.Marshal(e)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	return appendLog(path, docs)
}

// groupEntries returns kfake's log entries of committed offsets.
func groupEntries(commits []commit) [][]byte {
	var out [][]byte
	now := time.Now().UnixMilli()
	for _, c := range commits {
		doc, err := json.Marshal(struct {
			Type       string `json:"type"`
			Group      string `json:"g"`
			Topic      string `json:"t,omitempty"`
			Partition  int32  `json:"p,omitempty"`
			Offset     int64  `json:"o,omitempty"`
			Epoch      int32  `json:"e,omitempty"`
			Metadata   string `json:"m"`
			LastCommit int64  `json:"lc"`
		}{"commit", c.Group, c.Topic, c.Partition, c.Offset, c.LeaderEpoch, c.Metadata, now})
		if err == nil { // cannot fail: a struct of numbers and strings
			out = append(out, doc)
		}
	}
	return out
}
