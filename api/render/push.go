package render

import "github.com/weirhq/weir/api/weirpb"

// States of a push that runs.
const (
	Pushing       = "pushing"
	PushComparing = "comparing" // rows and their copy
	PushWaiting   = "waiting"   // it continues by itself
	PushStopped   = "stopped"   // until an operator acts
)

// PushState returns the state of a push that runs.
func PushState(s *weirpb.PushStatus) string {
	switch {
	case s.GetStopped():
		return PushStopped
	case s.GetProblem() != "":
		return PushWaiting
	case s.GetComparing() != "":
		return PushComparing
	}
	return Pushing
}
