package agent

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/lease/table"
)

// logOutage logs what fails behind the callers' backs, in few lines: that it begins, that it goes on, and that it is over. The last is a
// warning as well: who reads of the begin wants to read of the end.
func (a *Agent) logOutage(what string, err error) {
	if err == nil {
		if n := a.outage.Success(time.Now()); n.Kind == logthrottle.End {
			a.cfg.Logger.Warn().Str("region", a.cfg.Region).Dur("for", n.For).Int("failures", n.Failures).Msg("region_recovered")
		}
		return
	}
	if errors.Is(err, context.Canceled) { // the agent is being closed
		return
	}
	log := a.cfg.Logger
	log.Debug().Str("region", a.cfg.Region).Str("what", what).Str("raw", table.Raw(err)).Msg("request_failed")
	switch n := a.outage.Failure(time.Now()); n.Kind {
	case logthrottle.Begin:
		log.Warn().Err(err).Str("region", a.cfg.Region).Str("what", what).Msg("region_failed")
	case logthrottle.Continue:
		log.Warn().Err(err).Str("region", a.cfg.Region).Str("what", what).Dur("for", n.For).Int("failures", n.Failures).Msg("region_still_failing")
	default:
	}
}
