package jobqueue

// finals are the states of the jobs of a closed segment. They never change. Most jobs are Done, so
// there is a list of the others, or 2 bits per job if the list would take more.
type finals struct {
	others [3][]uint16 // positions of Failed, Canceled and no jobs, ascending; parts of one slice
	dense  []uint64    // by position: 0 is Done, else 1 + the index in others; nil if others has them
}

// maxOthers is the length at which a list takes as much memory as 2 bits per job.
const maxOthers = segmentSize / 8

func finalStates() [3]State { return [3]State{Failed, Canceled, None} }

// newFinals returns the final states of a segment, of which others has the positions.
func newFinals(others [3][]uint16) *finals {
	n := 0
	for _, list := range others {
		n += len(list)
	}
	f := &finals{}
	if n > maxOthers {
		f.dense = make([]uint64, segmentSize/32)
		for i, list := range others {
			for _, at := range list {
				f.dense[at/32] |= uint64(i+1) << (at % 32 * 2)
			}
		}
		return f
	}
	all := make([]uint16, 0, n)
	for i, list := range others {
		from := len(all)
		all = append(all, list...)
		f.others[i] = all[from:]
	}
	return f
}

// state returns the state of a position.
func (f *finals) state(at uint16) State {
	if f.dense != nil {
		return [4]State{Done, Failed, Canceled, None}[f.dense[at/32]>>(at%32*2)&3]
	}
	for i, s := range finalStates() {
		if contains(f.others[i], at) {
			return s
		}
	}
	return Done
}

// contains is slices.BinarySearch, inlined for the readers of states.
func contains(list []uint16, at uint16) bool {
	low, high := 0, len(list)
	for low < high {
		if mid := int(uint(low+high) / 2); list[mid] < at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < len(list) && list[low] == at
}

// list returns the positions of Failed, Canceled and no jobs.
func (f *finals) list() (others [3][]uint16) {
	if f.dense == nil {
		return f.others
	}
	for at := range segmentSize {
		if i := f.dense[at/32] >> (at % 32 * 2) & 3; i > 0 {
			others[i-1] = append(others[i-1], uint16(at))
		}
	}
	return others
}
