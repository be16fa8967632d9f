package changestream

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/value"
)

// Query is the arguments of a read function.
type Query struct {
	Start time.Time
	// End is zero for none: the query goes on until its partition ends.
	End time.Time
	// Token is empty to ask for the partitions that are active at Start.
	Token string
	// Heartbeat is how long the query may be silent.
	Heartbeat time.Duration
	// Check, if not nil, makes the checks of arguments that come after those of
	// the timestamps and before that of the token.
	Check func() error
}

// Limits of the service.
const (
	// maxFuture is how far in the future Start may be.
	maxFuture = 10 * time.Minute
	// maxWindow is the longest query in MUTABLE_KEY_RANGE mode.
	maxWindow = 30 * time.Minute
)

// Record is one row of a result.
type Record struct {
	Row value.Row
	// Position is what a query that goes on after this record resumes from.
	Position Position
}

// Position is how far a query has come.
type Position struct {
	// next is the number of the next record in the partition, or for a query
	// without a token of the next partition.
	next uint64
	// last is the timestamp of the last record or heartbeat.
	last int64
	// begun tells that next counts; before, the query waits for its start.
	begun bool
	// spoke tells that the query gave a record other than a heartbeat.
	spoke bool
}

// Encode appends the position to a resume token.
func (p Position) Encode(dst []byte) []byte {
	flags := byte(0)
	if p.begun {
		flags |= 1
	}
	if p.spoke {
		flags |= 2
	}
	dst = binary.BigEndian.AppendUint64(append(dst, flags), p.next)
	return binary.BigEndian.AppendUint64(dst, uint64(p.last))
}

// DecodePosition reads what Encode wrote.
func DecodePosition(b []byte) (Position, bool) {
	if len(b) != 17 || b[0] > 3 {
		return Position{}, false
	}
	return Position{
		begun: b[0]&1 != 0, spoke: b[0]&2 != 0,
		next: binary.BigEndian.Uint64(b[1:]), last: int64(binary.BigEndian.Uint64(b[9:])),
	}, true
}

// Reader is one query of a stream. It is for one goroutine.
type Reader struct {
	stream *Stream
	query  Query
	// start and end in microseconds; end is 0 for none.
	start, end int64
	partition  *partition // nil without a token
	pos        Position
	// spoken is when the reader last gave something, on the database's clock.
	spoken time.Time
	batch  []Record
	done   bool
}

// Read begins a query. Errors are those Spanner gives for arguments. from is the
// zero Position unless the query is resumed.
func (s *Stream) Read(q Query, from Position) (*Reader, error) {
	strong := s.log.timeline.StrongTimestamp()
	r := &Reader{stream: s, query: q, pos: from, spoken: s.log.timeline.Now(), start: ceilMicro(q.Start)}
	if !q.End.IsZero() {
		r.end = q.End.UnixMicro()
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.dropped {
		return nil, notFound(s.def.Name)
	}
	if err := r.check(strong); err != nil {
		return nil, err
	}
	if q.Check != nil {
		if err := q.Check(); err != nil {
			return nil, err
		}
	}
	if q.Token == "" {
		return r, nil
	}
	p, ok := s.byToken[q.Token]
	if !ok && from.begun { // a query has read it, until it was forgotten
		return nil, r.tooOld(s.horizon(strong.UnixMicro()))
	}
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "Specified partition_token is invalid, as it does not belong to the Change Stream associated with the TVF. Received partition_token: %s.", q.Token)
	}
	r.partition = p
	s.prune(strong.UnixMicro())
	return r, r.begin(strong.UnixMicro())
}

// ceilMicro is the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// check checks the arguments but the token, with the log's lock held.
func (r *Reader) check(now time.Time) error {
	q, s := r.query, r.stream
	if horizon := s.horizon(now.UnixMicro()); r.start < horizon && (!r.pos.begun || q.Token == "") {
		return r.tooOld(horizon)
	}
	if latest := now.Add(maxFuture); q.Start.After(latest) {
		return status.Errorf(codes.OutOfRange, "Specified start_timestamp is too far in the future. Please specify a start_timestamp no later than %s. Received start_timestamp: %s.", text(latest), text(q.Start))
	}
	if !q.End.IsZero() && q.Start.After(q.End) {
		return status.Errorf(codes.InvalidArgument, "If end_timestamp is specified, start_timestamp must be <= end_timestamp. Received start_timestamp: %s, end_timestamp: %s.", text(q.Start), text(q.End))
	}
	if !s.mutable() || q.Token == "" {
		return nil
	}
	latest := now
	if q.Start.After(latest) {
		latest = q.Start
	}
	if q.End.IsZero() || q.End.After(latest.Add(maxWindow)) {
		return status.Errorf(codes.InvalidArgument, "end_timestamp must be specified and be at most %v ahead for a Change Stream with partition_mode MUTABLE_KEY_RANGE.", maxWindow)
	}
	return nil
}

func (r *Reader) tooOld(horizon int64) error {
	return status.Errorf(codes.OutOfRange, "Specified start_timestamp is too far in the past. Please specify a start_timestamp within the earliest read timestamp: %s. Received start_timestamp: %s.", text(timeOf(horizon)), text(r.query.Start))
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// begin finds the first record once the start has come, and refuses to go on
// where records are missing. It is called with the log's lock held.
func (r *Reader) begin(now int64) error {
	p := r.partition
	if r.pos.begun {
		if r.pos.next < p.records.first { // dropped before they were read
			return r.tooOld(r.stream.horizon(now))
		}
		return nil
	}
	if r.start < p.start || p.end != 0 && r.start > p.end {
		until := "now"
		if p.end != 0 {
			until = text(timeOf(p.end))
		}
		return status.Errorf(codes.OutOfRange, "Specified start_timestamp is invalid for the partition. Please specify a start_timestamp within %s and %s. Received start_timestamp: %s.", text(timeOf(p.start)), until, text(r.query.Start))
	}
	if r.start <= now || p.end != 0 {
		r.pos.begun = true
		r.pos.next = p.records.seek(r.start)
		if r.query.Start.After(r.spoken) {
			r.spoken = r.query.Start // silence counts from the start
		}
	}
	return nil
}

// batchRecords is the most records that Next gives at once.
const batchRecords = 256

// Next waits for records and gives at least one; io.EOF ends the query. The
// slice is valid until the next call, its rows stay.
func (r *Reader) Next(ctx context.Context) ([]Record, error) {
	for {
		if r.done {
			return nil, io.EOF
		}
		strong := r.stream.log.timeline.StrongTimestamp()
		wake, err := r.collect(strong)
		if err != nil || len(r.batch) > 0 {
			if len(r.batch) > 0 {
				r.spoken = r.stream.log.timeline.Now()
			}
			return r.batch, err
		}
		if r.done {
			return nil, io.EOF
		}
		if err := r.wait(ctx, wake); err != nil {
			return nil, err
		}
	}
}

// collect fills the batch with what there is up to strong at least, or gives
// what to wait for.
func (r *Reader) collect(strong time.Time) (<-chan struct{}, error) {
	s := r.stream
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	r.batch = r.batch[:0]
	if s.dropped {
		return nil, notFound(s.def.Name)
	}
	now := strong.UnixMicro()
	if r.partition == nil {
		r.collectPartitions(now)
		return nil, nil
	}
	if err := r.begin(now); err != nil {
		return nil, err
	}
	if r.pos.begun {
		r.collectRecords()
	}
	if len(r.batch) > 0 || r.done {
		return nil, nil
	}
	if r.end != 0 && now >= r.end {
		r.atEnd()
		return nil, nil
	}
	if r.heartbeatDue(now) {
		r.heartbeat(timeOf(now))
		return nil, nil
	}
	return r.partition.waiter(), nil
}

// collectPartitions answers a query without a token, once its start has come.
func (r *Reader) collectPartitions(now int64) {
	if now < r.start {
		return
	}
	r.done = true
	s := r.stream
	start := value.Timestamp(r.query.Start.UTC())
	var children []child
	for _, p := range s.all {
		if p.start <= r.start && (p.end == 0 || r.start < p.end) {
			children = append(children, child{token: p.token})
		}
	}
	var rows []value.Row
	if s.mutable() {
		rows = append(rows, s.format.children(start, 0, children))
	} else {
		for i := range children {
			rows = append(rows, s.format.children(start, i, children[i:i+1]))
		}
	}
	for i, row := range rows {
		if uint64(i) >= r.pos.next {
			r.batch = append(r.batch, Record{row, Position{next: uint64(i + 1), begun: true}})
		}
	}
}

func (r *Reader) collectRecords() {
	log := &r.partition.records
	to := min(log.end(), r.pos.next+batchRecords)
	for ; r.pos.next < to; r.pos.next++ {
		e := log.at(r.pos.next)
		if r.end != 0 && e.ts > r.end {
			break
		}
		r.pos.last, r.pos.spoke = e.ts, true
		r.batch = append(r.batch, Record{e.row, Position{next: r.pos.next + 1, last: e.ts, begun: true, spoke: true}})
		r.done = e.final
	}
	if len(r.batch) == 0 && r.partition.end != 0 && r.pos.next == log.end() {
		r.done = true // resumed after the last record
	}
}

// atEnd ends a query at its end timestamp. One that gave nothing says so.
func (r *Reader) atEnd() {
	r.done = true
	if !r.pos.spoke && r.pos.last < r.end {
		r.heartbeat(r.query.End)
	}
}

// heartbeatDue: the query was silent for long, and there is a new time to tell,
// which no record has.
func (r *Reader) heartbeatDue(now int64) bool {
	due := !r.stream.log.timeline.Now().Before(r.spoken.Add(r.query.Heartbeat))
	return due && r.pos.begun && now > r.pos.last && now >= r.start
}

func (r *Reader) heartbeat(ts time.Time) {
	r.pos.last = ts.UnixMicro()
	r.batch = append(r.batch, Record{r.stream.format.heartbeat(value.Timestamp(ts.UTC())), r.pos})
}

// wait returns when there may be something to give: a commit, the next
// heartbeat, the start or the end of the query.
func (r *Reader) wait(ctx context.Context, wake <-chan struct{}) error {
	now := r.stream.log.timeline.Now()
	due := r.spoken.Add(r.query.Heartbeat).Sub(now)
	if !r.pos.begun {
		due = r.query.Start.Sub(now)
	}
	if !r.query.End.IsZero() {
		due = min(due, r.query.End.Sub(now))
	}
	// A clock that stands still must not make this a loop.
	timer := time.NewTimer(max(due, minWait))
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

const minWait = time.Millisecond
