package cdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
)

// Where the partition mode is MUTABLE_KEY_RANGE a query must have an end, at
// most 30 minutes ahead. A partition is then read in one window after another.
const mutableWindow = 10 * time.Minute

// reader reads one partition, with one query after another where these break
// off or have to end. It is one goroutine, but for silence and interrupt.
type reader struct {
	source   Source
	opt      *Options
	token    string
	mutable  bool
	end      Timestamp // the end position; zero without
	encoder  *encoder
	decoder  *Decoder
	box      *outbox
	attempts int
	moved    int // how often moveStart has
	backoff  gax.Backoff

	// position is where to read on; seen are the records at that time that have
	// been read, and again those that a new query brings once more.
	position Timestamp
	seen     seen
	again    map[string]struct{}

	batch    batch // what the current message has brought
	outcome  Outcome
	children bool // the partition has told of its children

	waiting atomic.Int64 // since when a message is waited for; 0: it is not
	breaker atomic.Pointer[context.CancelCauseFunc]
	cancel  context.CancelCauseFunc // ends the goroutine
	done    chan struct{}           // closed when it has ended
	missed  int64                   // heartbeats in the current silence, for the consumer
}

var (
	// errStop ends the decoding of a message whose rest is not wanted.
	errStop = errors.New("stop")
	// errSilent breaks off a query that does not even bring heartbeats.
	errSilent = errors.New("no heartbeat for too long")
	// errParked ends a reader that gives its place to another one.
	errParked = errors.New("parked")
)

// newReader returns a reader that goes on where p is.
func newReader(source Source, o *Options, f *outputFormat, p Partition, end Timestamp, in *inbox) (*reader, error) {
	enc, err := o.newEncoder(f, p.Token)
	if err != nil {
		return nil, err
	}
	r := &reader{
		source: source, opt: o, token: p.Token, mutable: source.Stream().Mutable(), end: end,
		encoder: enc, box: newOutbox(p.Token, o.ChunkBytes, in), position: p.Position, done: make(chan struct{}),
	}
	r.progressed()
	r.seen.at = p.Position
	for _, id := range p.Boundary {
		r.seen.add(p.Position, []byte(id.Transaction), []byte(id.Sequence))
	}
	return r, nil
}

// seen are the identities of the records at one time.
type seen struct {
	at   Timestamp
	ids  []byte
	ends []int
}

func (s *seen) add(at Timestamp, transaction, sequence []byte) {
	if at != s.at {
		s.at, s.ids, s.ends = at, s.ids[:0], s.ends[:0]
	}
	s.ids = appendID(s.ids, transaction, sequence)
	s.ends = append(s.ends, len(s.ids))
}

func appendID(dst, transaction, sequence []byte) []byte {
	return append(append(append(dst, transaction...), 0), sequence...)
}

// set returns the identities at that time for looking up, nil if there are none.
func (s *seen) set(at Timestamp) map[string]struct{} {
	if at != s.at || len(s.ends) == 0 {
		return nil
	}
	all := make(map[string]struct{}, len(s.ends))
	start := 0
	for _, end := range s.ends {
		all[string(s.ids[start:end])] = struct{}{}
		start = end
	}
	return all
}

// progressed notes that a query brings something new: the next break is the
// first one again.
func (r *reader) progressed() {
	r.attempts = 0
	r.backoff = gax.Backoff{Initial: r.opt.Retry.Initial, Max: r.opt.Retry.Max, Multiplier: 1.5}
}

// run reads the partition until it ends, the end position, or the end of ctx.
func (r *reader) run(ctx context.Context) error {
	for r.outcome == Ongoing {
		err := r.query(ctx)
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errParked):
			return nil
		case cause != nil:
			return cause
		case err == nil:
			continue
		}
		if r.moveStart(err) {
			continue
		}
		asked, transient := isTransient(err)
		if !transient {
			return r.fault(err)
		}
		if err := r.pause(ctx, err, asked); err != nil {
			return err
		}
	}
	return nil
}

// moveStart moves the position of the initial query to where Spanner says that
// its records begin: where a tail is to begin with the earliest of them, the
// retention alone does not tell, as the stream may be younger.
func (r *reader) moveStart(err error) bool {
	const often = 3
	from, expired := tooFarInThePast(err)
	if !expired || from <= r.position || r.token != RootToken || !r.opt.moveStart || r.moved == often {
		return false
	}
	r.moved++
	r.position = from
	return true
}

func (r *reader) pause(ctx context.Context, err error, asked time.Duration) error {
	r.attempts++
	pause := max(r.backoff.Pause(), asked)
	r.opt.Progress.Retries.Add(1)
	if r.opt.OnRetry != nil {
		r.opt.OnRetry(Retry{Partition: short(r.token), Err: err, Attempt: r.attempts, Pause: pause})
	}
	if gax.Sleep(ctx, pause) == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errParked) {
		return cause
	}
	return nil
}

// isTransient reports whether a query that failed with err is worth opening
// again, and the pause the server asked for. Beyond what any stream survives,
// these are the codes of a call that somebody between gave up: a change stream's
// query runs for as long as it takes.
func isTransient(err error) (pause time.Duration, ok bool) {
	if pause, ok = wire.Transient(err); ok {
		return pause, true
	}
	if errors.Is(err, errSilent) {
		return 0, true
	}
	s, isStatus := status.FromError(err)
	if !isStatus {
		return 0, false
	}
	switch s.Code() {
	case codes.Aborted, codes.Canceled, codes.DeadlineExceeded:
		return 0, true
	}
	return 0, false
}

// fault explains why the partition cannot be read on.
func (r *reader) fault(err error) error {
	stream := r.source.Stream().Name
	if from, expired := tooFarInThePast(err); expired {
		return &expiredError{stream: stream, position: r.position, from: from, cause: err}
	}
	return fault.Reading(err, "read", fmt.Sprintf("change stream %s, partition %s", stream, short(r.token)))
}

// expiredError is Spanner's refusal of a position that it has no records for any
// more. The tail, which knows the retention, turns it into a fault.
type expiredError struct {
	stream         string
	position, from Timestamp
	cause          error
}

func (e *expiredError) Error() string { return e.cause.Error() }
func (e *expiredError) Unwrap() error { return e.cause }

// queryEnd returns where the next query is to end; zero is never.
func (r *reader) queryEnd() Timestamp {
	end := r.end
	if r.mutable {
		window := r.position.Add(mutableWindow)
		if r.token == RootToken { // it only tells the partitions at its start
			window = r.position.Add(r.opt.Heartbeat)
		}
		if end == 0 || window < end {
			end = window
		}
	}
	return end
}

// query runs one query. nil means that it has ended as it should: r.outcome
// says what follows.
func (r *reader) query(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.breaker.Store(&cancel)
	q := Query{Token: r.token, Start: r.position, End: r.queryEnd(), Heartbeat: r.opt.Heartbeat}
	r.again = r.seen.set(r.position)
	p := r.opt.Progress
	p.QueriesStarted.Add(1)
	p.ActiveQueries.Add(1)
	defer p.ActiveQueries.Add(-1)
	recv, err := r.source.Query(ctx, q)
	if err == nil {
		err = r.receive(ctx, recv, q)
	}
	// What was read before an error is as good as ever.
	if perr := r.box.put(ctx, &r.batch); perr != nil {
		return perr
	}
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// receive takes the messages of a query. Each goes to the outbox at once.
func (r *reader) receive(ctx context.Context, recv wire.Receiver, q Query) error {
	var m wire.Message
	defer m.Free()
	var rows *wire.Assembler
	for {
		r.waiting.Store(time.Now().UnixNano())
		err := recv.RecvMsg(&m)
		r.waiting.Store(0)
		switch {
		case errors.Is(err, io.EOF):
			return r.ended(ctx, q, rows)
		case err != nil:
			return err
		}
		if rows == nil {
			if rows, err = r.begin(&m); err != nil {
				return err
			}
		}
		if err := r.message(rows, &m); err != nil {
			return err
		}
		if !r.batch.isEmpty() { // what comes again is no progress
			r.progressed()
		}
		if m.Last && r.outcome == Ongoing {
			return r.ended(ctx, q, rows)
		}
		if err := r.box.put(ctx, &r.batch); err != nil || r.outcome != Ongoing {
			return err
		}
	}
}

// begin checks the metadata that opens every query: one column, of a type that
// tells the form of the records.
func (r *reader) begin(m *wire.Message) (*wire.Assembler, error) {
	meta := new(spannerpb.ResultSetMetadata)
	if err := proto.Unmarshal(m.Metadata, meta); err != nil {
		return nil, fmt.Errorf("read ResultSetMetadata: %w", err)
	}
	fields := meta.GetRowType().GetFields()
	if len(fields) != 1 {
		return nil, fmt.Errorf("the result has %d columns where a change stream has one", len(fields))
	}
	dec, err := NewDecoder(fields[0].GetType())
	if err != nil {
		return nil, err
	}
	r.decoder = dec
	rows := wire.NewAssembler(1)
	return &rows, nil
}

func (r *reader) message(rows *wire.Assembler, m *wire.Message) error {
	if err := rows.Add(m); err != nil {
		return err
	}
	for {
		row, ok := rows.Next()
		if !ok {
			return nil
		}
		switch err := r.decoder.Decode(row[0], r.record); {
		case errors.Is(err, errStop):
			return nil
		case err != nil:
			return err
		}
	}
}

// ended takes the end of a query.
func (r *reader) ended(ctx context.Context, q Query, rows *wire.Assembler) error {
	if rows != nil {
		if err := rows.End(); err != nil {
			return err
		}
	}
	switch {
	case r.children && (!r.mutable || r.token == RootToken):
		r.finish(Ended)
		return nil
	case r.token == RootToken:
		return status.Error(codes.Internal, "the initial query told of no partition")
	case q.End == 0:
		return status.Errorf(codes.Internal, "the query ended after %v without child partitions: what became of its keys is not known", r.position)
	}
	if err := r.checkEnd(ctx, q.End); err != nil {
		return err
	}
	r.position = q.End
	r.batch.moveTo(q.End)
	if q.End == r.end {
		r.finish(AtEnd)
	}
	return nil
}

// checkEnd wants the end of a query to have passed by the server's clock: a
// query that ended before has not brought everything.
func (r *reader) checkEnd(ctx context.Context, end Timestamp) error {
	if r.position >= end {
		return nil
	}
	now, err := r.source.Now(ctx)
	switch {
	case err != nil:
		return err
	case TimestampOf(now) < end:
		return status.Errorf(codes.Internal, "the query ended before its end position %v without child partitions", end)
	}
	return nil
}

func (r *reader) finish(outcome Outcome) {
	r.outcome = outcome
	r.batch.outcome = outcome
}
