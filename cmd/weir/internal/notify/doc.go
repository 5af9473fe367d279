// Package notify sends the records of a topic to a webhook: `weir pacing notify` and `weir queue
// notify`.
//
//	topic ─▶ Decode ─▶ JSON document ─▶ POST, until the server accepts or refuses it
//
// PACE-26: A webhook gets each alert that is not too old until it has accepted or refused it.
package notify
