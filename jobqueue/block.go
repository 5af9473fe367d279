package jobqueue

import "slices"

// hold makes a job wait for others.
func (q *Queue) hold(id ID, b blocked) {
	q.block[id] = b
	for _, x := range b.left {
		w := q.waits[x]
		w.ids = append(w.ids, id)
		q.waits[x] = w
	}
}

// release takes a job that is Done from those that wait for it.
func (q *Queue) release(done ID) {
	for _, id := range q.waits[done].ids {
		b, ok := q.block[id]
		i, found := slices.BinarySearch(b.left, done)
		if !ok || !found {
			continue
		}
		q.changed.job(id)
		b.left = slices.Delete(b.left, i, i+1)
		if q.block[id] = b; len(b.left) == 0 {
			delete(q.block, id)
			q.wait(id, Blocked, b.notBefore)
		}
	}
	delete(q.waits, done)
}

// abandon takes a canceled job from those that it waited for. Their segments may be closed then.
func (q *Queue) abandon(id ID) {
	left := q.block[id].left
	delete(q.block, id)
	for _, x := range left {
		w := q.waits[x]
		if w.gone++; w.gone == len(w.ids) {
			delete(q.waits, x)
			q.close(x)
			continue
		}
		if 2*w.gone > len(w.ids) {
			w.ids = slices.DeleteFunc(w.ids, func(y ID) bool { _, ok := q.block[y]; return !ok })
			w.gone = 0
		}
		q.waits[x] = w
	}
}

// awaited reports whether a job is Blocked until id is Done.
func (q *Queue) awaited(id ID) bool {
	_, ok := q.waits[id]
	return ok
}
