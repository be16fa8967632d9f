package wire

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Retry says how long a broken stream is opened again. The zero value means the
// defaults, which are those of Google's own clients.
type Retry struct {
	// Initial is the upper bound of the first pause; 250 ms by default. Pauses
	// are drawn at random below their bound, so that many streams broken at
	// once do not come back at once.
	Initial time.Duration
	// Max bounds every pause; 32 s by default.
	Max time.Duration
	// GiveUpAfter ends the attempts when none of them received anything for
	// that long; 15 minutes by default.
	GiveUpAfter time.Duration
}

// maxAttempts ends the attempts of a stream that is answered each time, but
// always breaks before the next resume token.
const maxAttempts = 100

const (
	defaultInitialPause = 250 * time.Millisecond
	defaultMaxPause     = 32 * time.Second
	defaultGiveUpAfter  = 15 * time.Minute
	pauseMultiplier     = 1.3
)

func (r Retry) withDefaults() Retry {
	if r.Initial <= 0 {
		r.Initial = defaultInitialPause
	}
	if r.Max <= 0 {
		r.Max = max(defaultMaxPause, r.Initial)
	}
	if r.GiveUpAfter <= 0 {
		r.GiveUpAfter = defaultGiveUpAfter
	}
	return r
}

// internalButTransient are the texts of INTERNAL errors that stand for a broken
// connection; all other INTERNAL errors are permanent. The list is the one the
// official Go client uses.
var internalButTransient = [...]string{
	"stream terminated by RST_STREAM",
	"HTTP/2 error code: INTERNAL_ERROR",
	"Connection closed with unknown cause",
	"Received unexpected EOS on DATA frame from server",
	"Authentication backend internal server error. Please retry",
}

// Transient reports whether a stream that failed with err is worth opening
// again, and the pause the server asked for, if it did.
//
// UNAVAILABLE is; INTERNAL only with the texts of a broken connection;
// RESOURCE_EXHAUSTED only where the server attached a RetryInfo, since without
// one it is a quota or a size that waiting does not mend.
func Transient(err error) (pause time.Duration, ok bool) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return 0, false
	}
	s, isStatus := status.FromError(err)
	if !isStatus {
		return 0, false
	}
	pause, asked := RetryDelay(s)
	switch s.Code() {
	case codes.Unavailable:
		return pause, true
	case codes.ResourceExhausted:
		return pause, asked
	case codes.Internal:
		for _, text := range internalButTransient {
			if strings.Contains(s.Message(), text) {
				return pause, true
			}
		}
	}
	return 0, false
}

// RetryDelay is the pause that a status asks for in its google.rpc.RetryInfo;
// asked is false where it has none.
func RetryDelay(s *status.Status) (pause time.Duration, asked bool) {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

// pacer hands out the pauses between attempts and knows when to give up.
type pacer struct {
	retry    Retry
	backoff  gax.Backoff
	attempts int
	since    time.Time // of the last progress, or of the first failure after it
}

func newPacer(r Retry) pacer {
	p := pacer{retry: r.withDefaults()}
	p.progress()
	return p
}

func (p *pacer) progress() {
	p.backoff = gax.Backoff{Initial: p.retry.Initial, Max: p.retry.Max, Multiplier: pauseMultiplier}
	p.attempts, p.since = 0, time.Time{}
}

// answered notes that the server is there: the time of patience starts anew.
// The pauses go on growing until there is a token.
func (p *pacer) answered() { p.since = time.Time{} }

// next returns the pause before the next attempt; false when it is time to give
// up. The time of patience runs from the first failure, not from the last
// message: a stream may be idle for long because its reader is slow.
func (p *pacer) next(asked time.Duration) (time.Duration, bool) {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	pause := max(p.backoff.Pause(), asked)
	p.attempts++
	return pause, p.attempts <= maxAttempts && now.Add(pause).Sub(p.since) <= p.retry.GiveUpAfter
}
