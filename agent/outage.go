package agent

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/lease/table"
)

// logOutage logs failures of background requests in few lines: when an outage begins, while it
// continues, and when it ends. The last line is a warning as well, so that a log of warnings shows
// the end of each outage.
func (a *Agent) logOutage(what string, err error) {
	if err == nil {
		if n := a.outage.Success(time.Now()); n.Kind == logthrottle.End {
			a.cfg.Log.Warn().Str("region", a.cfg.Region).Dur("for_ms", n.For).Int("failures", n.Failures).Msg("region_recovered")
		}
		return
	}
	if errors.Is(err, context.Canceled) { // the agent is being closed
		return
	}
	log := a.cfg.Log
	log.Debug().Str("region", a.cfg.Region).Str("what", what).Str("raw", table.SDKText(err)).Msg("request_failed")
	switch n := a.outage.Failure(time.Now()); n.Kind {
	case logthrottle.Begin:
		log.Warn().Err(err).Str("region", a.cfg.Region).Str("what", what).Msg("region_failed")
	case logthrottle.Continue:
		log.Warn().Err(err).Str("region", a.cfg.Region).Str("what", what).Dur("for_ms", n.For).Int("failures", n.Failures).
			Msg("region_still_failing")
	default:
	}
}
