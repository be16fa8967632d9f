package writer

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
)

// Refusal is a record that will not be written. It is valid during the call it
// is handed to.
type Refusal struct {
	Source   *Source
	Position Position
	// Raw are the record's bytes as they came, or with Made as --jq made them.
	Raw       []byte
	Made      bool
	Table     string
	Operation wire.Operation
	// Sent says that Spanner refused the record, not we.
	Sent bool
	Code codes.Code
	// Message says why. It can hold values of the record.
	Message string
	// UnknownOutcome says that an earlier attempt may have been applied without
	// our hearing of it; ALREADY_EXISTS may then be its own success.
	UnknownOutcome bool
	// Err is the same for an error of the run, without values but in its Detail.
	Err error
}

// Refuser decides what a refused record means. Refuse is called from Run's
// goroutine; an error ends the run. Flush is called once at the end, however the
// run ended, and makes sure that nothing of what was refused is lost.
type Refuser interface {
	Refuse(*Refusal) error
	Flush() error
}

// Fail returns the Refuser that ends the run at the first refused record.
func Fail() Refuser { return failing{} }

type failing struct{}

func (failing) Refuse(r *Refusal) error { return r.Err }
func (failing) Flush() error            { return nil }

// Drop returns the Refuser that logs refused records, as errors since nothing
// else will have them, and goes on. showValues says whether Spanner's text may be
// in the log, which can hold values.
func Drop(log *slog.Logger, showValues bool) Refuser { return dropping{log, showValues} }

type dropping struct {
	log        *slog.Logger
	showValues bool
}

func (d dropping) Refuse(r *Refusal) error {
	d.log.Error("record dropped", r.LogAttrs(d.showValues)...)
	return nil
}

// LogAttrs are the attributes that a log line about the refusal has.
func (r *Refusal) LogAttrs(showValues bool) []any {
	return []any{
		"record", r.Position.String(), "table", r.Table, "operation", r.Operation.String(),
		"code", fault.CodeName(r.Code), "reason", fault.Text(r.Err, showValues), "unknownOutcome", r.UnknownOutcome,
	}
}

func (dropping) Flush() error { return nil }

// RefusalLimit is how many records may be refused before the run fails. The
// zero value is no limit.
type RefusalLimit struct {
	set     bool
	count   int64
	percent float64
	isShare bool
}

// minForShare is how many records must have been taken before a share of them
// ends a run early: the first record alone would be 100 per cent. At the end the
// share counts whatever the number.
const minForShare = 1000

// ParseRefusalLimit reads N, a number of records, or P%, a share of those taken.
// The empty text is no limit.
func ParseRefusalLimit(text string) (RefusalLimit, error) {
	if text == "" {
		return RefusalLimit{}, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		l := RefusalLimit{set: true, isShare: true, percent: p}
		if err != nil || l.Validate() != nil {
			return RefusalLimit{}, fmt.Errorf("%q is no share between 0%% and 100%%", text)
		}
		return l, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return RefusalLimit{}, fmt.Errorf("%q is neither a number of records nor a share such as 1%%", text)
	}
	return RefusalLimit{set: true, count: n}, nil
}

// Validate reports a share that is none.
func (l RefusalLimit) Validate() error {
	if l.isShare && !(l.percent >= 0 && l.percent <= 100) {
		return errors.New("max refused must be a share between 0% and 100%")
	}
	return nil
}

// String is what ParseRefusalLimit reads.
func (l RefusalLimit) String() string {
	switch {
	case !l.set:
		return ""
	case l.isShare:
		return strconv.FormatFloat(l.percent, 'f', -1, 64) + "%"
	default:
		return strconv.FormatInt(l.count, 10)
	}
}

// check returns the error of a run in which too many records of those taken
// were refused. atEnd says that no more will come.
func (l RefusalLimit) check(refused, taken int64, atEnd bool) error {
	var over bool
	switch {
	case !l.set || refused == 0:
	case !l.isShare:
		over = refused > l.count
	case atEnd || taken >= minForShare:
		over = float64(refused)*100 > l.percent*float64(taken)
	}
	if !over {
		return nil
	}
	return fault.New(codes.FailedPrecondition, "write", "records",
		fmt.Sprintf("%d of %d records were refused, more than --max-refused %s", refused, taken, l)).
		WithHint("the refused records are in the log or the dead letter file")
}

// refusalOf describes a record refused with a status, or by its own error.
func refusalOf(e *entry, s *status.Status) *Refusal {
	r := &Refusal{
		Source: e.chunk.source, Position: e.position(), Raw: e.raw, Made: e.made, Table: e.tableName, Operation: e.op,
		UnknownOutcome: e.unknown, Sent: s != nil,
	}
	if e.table != nil {
		r.Table = e.table.name
	}
	if s != nil {
		r.Code, r.Message = s.Code(), s.Message()
		r.Err = recordFault(e, s)
		return r
	}
	r.Code, r.Message = fault.Code(e.err), fault.Text(e.err, true)
	if r.Code == codes.Unknown {
		r.Code = codes.InvalidArgument
	}
	r.Err = unsentFault(e, r.Code)
	return r
}
