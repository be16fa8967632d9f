package emulator

import (
	"context"
	"strconv"
	"sync"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/store"
)

// transactions are the multi-use transactions of a database, open to every
// connection.
type transactions struct {
	mu   sync.Mutex
	byID map[string]*transaction
	last int
}

func (t *transactions) init() { t.byID = make(map[string]*transaction) }

// transaction is one multi-use transaction.
type transaction struct {
	id       string
	session  string
	readOnly bool
	// excluded from change streams that allow it.
	excluded bool
	created  time.Time
	// at is the read timestamp of a read-only transaction.
	at time.Time

	mu sync.Mutex
	// footprint is what a read-write transaction has read; its Since is zero
	// until it reads.
	footprint store.Footprint
	state     transactionState
	// failure is what the first Commit failed with.
	failure   error
	committed *spannerpb.CommitResponse
}

type transactionState uint8

const (
	active transactionState = iota
	committed
	rolledBack
	failed
)

// forgetEvery is how many transactions begin between sweeps of old ones.
const forgetEvery = 1024

// add gives a transaction its id. retention is the database's version retention
// period.
func (t *transactions) add(tx *transaction, retention time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	tx.id = strconv.Itoa(t.last)
	t.byID[tx.id] = tx
	if t.last%forgetEvery == 0 {
		t.forget(tx.created, retention)
	}
}

// manyTransactions are more than a server of tests has at once: beyond them
// those that ended are forgotten sooner.
const manyTransactions = 50_000

// forget drops transactions that are of no use any more: nothing can be read
// at the timestamp of a read-only one after the retention period, of which it
// says so for an hour, and a read-write one that old was given up. Where there are many, one that ended is
// kept for a minute, for those who repeat its Commit.
func (t *transactions) forget(now time.Time, retention time.Duration) {
	many := len(t.byID) > manyTransactions
	for id, tx := range t.byID {
		age := now.Sub(tx.created)
		old := tx.readOnly && age > retention+time.Hour || !tx.readOnly && age > time.Hour
		if old || many && age > time.Minute && tx.ended() {
			delete(t.byID, id)
		}
	}
}

// ended tells whether a read-write transaction has ended; false while it is
// busy.
func (tx *transaction) ended() bool {
	if tx.readOnly || !tx.mu.TryLock() {
		return false
	}
	defer tx.mu.Unlock()
	return tx.state != active
}

// end sets the state of a transaction that has ended. It is called with the
// lock held.
func (tx *transaction) end(state transactionState) {
	tx.state, tx.footprint = state, store.Footprint{}
}

// find gives a transaction of a session.
func (t *transactions) find(session string, id []byte) (*transaction, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tx, ok := t.byID[string(id)]
	if !ok || tx.session != session {
		return nil, status.Errorf(codes.InvalidArgument, "Transaction was not found: %q", id)
	}
	return tx, nil
}

// BeginTransaction begins a multi-use transaction.
func (s *Server) BeginTransaction(_ context.Context, req *spannerpb.BeginTransactionRequest) (*spannerpb.Transaction, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	_, out, err := s.begin(db, session.GetName(), req.GetOptions())
	return out, err
}

func (s *Server) begin(db *database, session string, opts *spannerpb.TransactionOptions) (*transaction, *spannerpb.Transaction, error) {
	tx := &transaction{session: session, created: s.opts.Now()}
	out := &spannerpb.Transaction{}
	switch mode := opts.GetMode().(type) {
	case *spannerpb.TransactionOptions_ReadOnly_:
		if opts.GetExcludeTxnFromChangeStreams() {
			return nil, nil, status.Error(codes.InvalidArgument, "exclude_txn_from_change_streams is not valid for a read-only transaction.")
		}
		at, err := s.readTimestamp(db, mode.ReadOnly, true)
		if err != nil {
			return nil, nil, err
		}
		tx.readOnly, tx.at = true, at
		if mode.ReadOnly.GetReturnReadTimestamp() {
			out.ReadTimestamp = timestamppb.New(at)
		}
	case *spannerpb.TransactionOptions_ReadWrite_:
		tx.excluded = opts.GetExcludeTxnFromChangeStreams()
	case *spannerpb.TransactionOptions_PartitionedDml_:
		return nil, nil, status.Error(codes.Unimplemented, "Partitioned DML is not served")
	default:
		return nil, nil, status.Error(codes.InvalidArgument, "Invalid transaction options: no mode is set.")
	}
	db.transactions.add(tx, db.store.Schema().VersionRetention())
	out.Id = []byte(tx.id)
	return tx, out, nil
}

// readTimestamp settles a timestamp bound. Bounded staleness gets the newest
// timestamp, which is always within the bound.
func (s *Server) readTimestamp(db *database, ro *spannerpb.TransactionOptions_ReadOnly, multiUse bool) (time.Time, error) {
	switch b := ro.GetTimestampBound().(type) {
	case *spannerpb.TransactionOptions_ReadOnly_Strong:
		if !b.Strong {
			return time.Time{}, status.Error(codes.InvalidArgument, "Timestamp bound strong must be true if it is set.")
		}
	case *spannerpb.TransactionOptions_ReadOnly_ReadTimestamp:
		return checkTimestamp(b.ReadTimestamp, "Invalid exact read timestamp")
	case *spannerpb.TransactionOptions_ReadOnly_ExactStaleness:
		if b.ExactStaleness.CheckValid() != nil || b.ExactStaleness.AsDuration() < 0 {
			return time.Time{}, status.Error(codes.InvalidArgument, "Staleness must be non-negative.")
		}
		return s.opts.Now().Add(-b.ExactStaleness.AsDuration()).UTC(), nil
	case *spannerpb.TransactionOptions_ReadOnly_MinReadTimestamp:
		if multiUse {
			return time.Time{}, singleUseOnly("min_read_timestamp")
		}
		least, err := checkTimestamp(b.MinReadTimestamp, "Invalid min read timestamp")
		if err != nil {
			return time.Time{}, err
		}
		if now := db.store.StrongTimestamp(); now.After(least) {
			return now, nil
		}
		return least, nil
	case *spannerpb.TransactionOptions_ReadOnly_MaxStaleness:
		if multiUse {
			return time.Time{}, singleUseOnly("max_staleness")
		}
		if b.MaxStaleness.CheckValid() != nil || b.MaxStaleness.AsDuration() < 0 {
			return time.Time{}, status.Error(codes.InvalidArgument, "Staleness must be non-negative.")
		}
	}
	return db.store.StrongTimestamp(), nil
}

func singleUseOnly(bound string) error {
	return status.Errorf(codes.InvalidArgument, "Timestamp bound: '%s' for read can be only be used for a single use transaction.", bound)
}

// checkTimestamp refuses what is no timestamp, or before the epoch, or the
// last one there is.
func checkTimestamp(ts *timestamppb.Timestamp, text string) (time.Time, error) {
	t := ts.AsTime()
	if ts.CheckValid() != nil || t.Before(time.Unix(0, 0)) || t.Year() == 9999 && t.Month() == time.December && t.Day() == 31 {
		return time.Time{}, status.Errorf(codes.InvalidArgument, "%s: %s.", text, t.Format(time.RFC3339Nano))
	}
	return t, nil
}

// view is what a read or query sees: a snapshot, and the transaction it is in.
type view struct {
	snapshot *store.Snapshot
	// meta goes into the result's metadata; nil if there is nothing to say.
	meta *spannerpb.Transaction
	// readWrite is the read-write transaction that has to remember what it
	// reads, nil for others.
	readWrite *transaction
	// transaction is the id of the multi-use transaction, "" for single use.
	transaction string
}

// at is the timestamp a request asks for, before it is waited for.
type viewPlan struct {
	view
	at time.Time
}

// resolve finds or begins the transaction that a request names.
func (s *Server) resolve(db *database, session string, sel *spannerpb.TransactionSelector) (viewPlan, error) {
	switch v := sel.GetSelector().(type) {
	case *spannerpb.TransactionSelector_Begin:
		tx, meta, err := s.begin(db, session, v.Begin)
		if err != nil {
			return viewPlan{}, err
		}
		p, err := s.inTransaction(db, tx)
		p.meta = meta
		return p, err
	case *spannerpb.TransactionSelector_Id:
		tx, err := db.transactions.find(session, v.Id)
		if err != nil {
			return viewPlan{}, err
		}
		return s.inTransaction(db, tx)
	default:
		return s.singleUse(db, sel.GetSingleUse())
	}
}

func (s *Server) singleUse(db *database, opts *spannerpb.TransactionOptions) (viewPlan, error) {
	if opts.GetReadWrite() != nil || opts.GetPartitionedDml() != nil {
		return viewPlan{}, status.Error(codes.InvalidArgument, "Single-use transactions for reads and queries must be read-only.")
	}
	at, err := s.readTimestamp(db, opts.GetReadOnly(), false)
	if err != nil {
		return viewPlan{}, err
	}
	p := viewPlan{at: at}
	if opts.GetReadOnly().GetReturnReadTimestamp() {
		p.meta = &spannerpb.Transaction{ReadTimestamp: timestamppb.New(at)}
	}
	return p, nil
}

func (s *Server) inTransaction(db *database, tx *transaction) (viewPlan, error) {
	p := viewPlan{at: tx.at, view: view{transaction: tx.id}}
	if tx.readOnly {
		return p, nil
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.state != active {
		return p, status.Error(codes.FailedPrecondition, "Cannot start a read or query within a transaction after Commit() or Rollback() has been called.")
	}
	if tx.footprint.Since.IsZero() {
		tx.footprint.Since = db.store.StrongTimestamp()
	}
	p.at, p.readWrite = tx.footprint.Since, tx
	return p, nil
}

// open waits for the timestamp to come and takes the snapshot.
func (p viewPlan) open(ctx context.Context, db *database) (*view, error) {
	snap, err := db.store.Snapshot(ctx, p.at)
	if err != nil {
		return nil, err
	}
	v := p.view
	v.snapshot = snap
	return &v, nil
}

// remember notes what a read-write transaction reads.
func (v *view) remember(scan relation.Scan) {
	if v.readWrite == nil || scan.Table.Virtual {
		return
	}
	v.readWrite.mu.Lock()
	defer v.readWrite.mu.Unlock()
	v.readWrite.footprint.Reads = append(v.readWrite.footprint.Reads, scan)
}

// Rollback gives up a read-write transaction.
func (s *Server) Rollback(_ context.Context, req *spannerpb.RollbackRequest) (*emptypb.Empty, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	tx, err := db.transactions.find(session.GetName(), req.GetTransactionId())
	if err != nil {
		return nil, err
	}
	if tx.readOnly {
		return nil, status.Error(codes.FailedPrecondition, "Cannot rollback a read-only transaction.")
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.state == committed {
		return nil, status.Error(codes.FailedPrecondition, "Cannot rollback a transaction after Commit() has been called.")
	}
	if tx.state == active {
		tx.end(rolledBack)
	}
	return &emptypb.Empty{}, nil
}
