package cmd

import (
	"errors"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// parseBound parses the timestamp bound of a single-use read, which may be any
// of the five.
func parseBound(text string) (*spannerpb.TransactionOptions_ReadOnly, error) {
	name, value, _ := strings.Cut(text, "=")
	switch name = strings.ToLower(name); name {
	case "strong":
		if value != "" {
			return nil, errors.New("strong takes no value")
		}
		return &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}}, nil
	case "read-timestamp", "min-read-timestamp":
		t, err := parseTimestamp(value)
		if name == "read-timestamp" || err != nil {
			return atTimestamp(t), err
		}
		return &spannerpb.TransactionOptions_ReadOnly{
			TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MinReadTimestamp{MinReadTimestamp: timestamppb.New(t)}}, nil
	case "exact-staleness", "max-staleness":
		d, err := parseDuration(value)
		if err == nil && d < 0 {
			err = errors.New("a staleness cannot be negative")
		}
		if name == "exact-staleness" || err != nil {
			return withStaleness(d), err
		}
		return &spannerpb.TransactionOptions_ReadOnly{
			TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MaxStaleness{MaxStaleness: durationpb.New(d)}}, nil
	}
	return nil, errors.New("not one of strong, " + strings.Join([]string{"read-timestamp=TIME", "exact-staleness=DURATION", "max-staleness=DURATION", "min-read-timestamp=TIME"}, ", "))
}

func atTimestamp(t time.Time) *spannerpb.TransactionOptions_ReadOnly {
	return &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ReadTimestamp{ReadTimestamp: timestamppb.New(t)}}
}

func withStaleness(d time.Duration) *spannerpb.TransactionOptions_ReadOnly {
	return &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ExactStaleness{ExactStaleness: durationpb.New(d)}}
}

// maxAhead is how far a timestamp may be ahead of the local clock, which can be
// wrong.
const maxAhead = time.Hour

// ahead returns the timestamp until which Spanner would wait before it reads
// with this bound; zero if it need not, by the local clock.
func (a *app) ahead(b *spannerpb.TransactionOptions_ReadOnly) time.Time {
	at := b.GetReadTimestamp()
	if at == nil {
		at = b.GetMinReadTimestamp()
	}
	if at == nil || !at.AsTime().After(a.now()) {
		return time.Time{}
	}
	return at.AsTime()
}

// refuseAhead refuses a bound that nobody would want to wait for.
func (a *app) refuseAhead(b *spannerpb.TransactionOptions_ReadOnly) error {
	at := a.ahead(b)
	if !at.After(a.now().Add(maxAhead)) {
		return nil
	}
	e := usagef("the timestamp %s is in the future: Spanner would wait until then", at.Format(time.RFC3339Nano))
	e.hint = "give an earlier one"
	return e
}

// warnAhead tells why nothing happens for a while.
func (a *app) warnAhead(b *spannerpb.TransactionOptions_ReadOnly) {
	if at := a.ahead(b); !at.IsZero() {
		a.log.Warn("the timestamp is in the future: Spanner waits until then", "timestamp", at.Format(time.RFC3339Nano))
	}
}

// schemaTime is when the schema is to be read for reads with this bound; zero is
// now.
func schemaTime(b *spannerpb.TransactionOptions_ReadOnly, now time.Time) time.Time {
	switch bound := b.GetTimestampBound().(type) {
	case *spannerpb.TransactionOptions_ReadOnly_ReadTimestamp:
		return bound.ReadTimestamp.AsTime()
	case *spannerpb.TransactionOptions_ReadOnly_ExactStaleness:
		return now.Add(-bound.ExactStaleness.AsDuration())
	default:
		return time.Time{}
	}
}
