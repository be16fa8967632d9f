package cdc

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/fault"
)

// positionKind tells the forms of a StartPosition.
type positionKind uint8

const (
	positionLatest positionKind = iota
	positionEarliest
	positionAt
	positionAgo
)

// StartPosition is where to begin. The zero value is Latest.
type StartPosition struct {
	kind positionKind
	at   Timestamp
	ago  time.Duration
}

// Latest begins at the server's present time.
func Latest() StartPosition { return StartPosition{} }

// Earliest begins where Spanner still has records.
func Earliest() StartPosition { return StartPosition{kind: positionEarliest} }

// At begins at t.
func At(t time.Time) StartPosition { return StartPosition{kind: positionAt, at: TimestampOf(t)} }

// Ago begins d before the server's present time.
func Ago(d time.Duration) StartPosition { return StartPosition{kind: positionAgo, ago: d} }

// String returns the position as a user writes it.
func (p StartPosition) String() string {
	switch p.kind {
	case positionEarliest:
		return "earliest"
	case positionAt:
		return p.at.String()
	case positionAgo:
		return "-" + p.ago.String()
	default:
		return "latest"
	}
}

// retentionMargin is kept from the moving end of what Spanner still has: a
// query that begins right there would fail for being a moment late.
const retentionMargin = time.Minute

// window is the time that a start position may be in.
type window struct {
	now       Timestamp
	retention time.Duration
	explicit  bool // retention is what the DDL says, not a fallback
}

func (w window) earliest() Timestamp { return w.now.Add(-w.retention) }

func (w window) String() string {
	how := "retention"
	if !w.explicit {
		how = "assumed retention"
	}
	return fmt.Sprintf("%v to %v, the server's present time (%s %v)", w.earliest(), w.now, how, w.retention)
}

// resolve turns a position into a timestamp by the server's clock. option names
// the setting in errors.
func (p StartPosition) resolve(w window, option string) (Timestamp, error) {
	var t Timestamp
	switch p.kind {
	case positionEarliest:
		return w.earliest().Add(retentionMargin), nil
	case positionAt:
		t = p.at
	case positionAgo:
		t = w.now.Add(-p.ago)
	default:
		return w.now, nil
	}
	var reason string
	switch {
	case t > w.now:
		reason = "is in the future"
	case t < w.earliest():
		reason = "is before what Spanner still has"
	default:
		return t, nil
	}
	return 0, fault.New(codes.OutOfRange, "begin at", t.String(), fmt.Sprintf("the %s %s; it must be within %v", option, reason, w))
}

// earliestText is how Spanner says where its records begin: after the retention
// period's end or the stream's creation, whichever is later.
var earliestText = regexp.MustCompile(`earliest read timestamp: (\S+?Z)`)

// tooFarInThePast recognises Spanner's refusal of a start that it has no records
// for any more. from is where they begin, zero if it does not say.
func tooFarInThePast(err error) (from Timestamp, ok bool) {
	var carrier interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &carrier) {
		return 0, false
	}
	st := carrier.GRPCStatus()
	if st.Code() != codes.OutOfRange || !pastText.MatchString(st.Message()) {
		return 0, false
	}
	if found := earliestText.FindStringSubmatch(st.Message()); found != nil {
		from, _ = parseTimestamp([]byte(found[1])) // zero where it is none
	}
	return from, true
}

var pastText = regexp.MustCompile(`too far in the past|This partition is no longer valid`)
