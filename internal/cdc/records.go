package cdc

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// record takes one record of the reader's partition.
func (r *reader) record(rec *Record) error {
	if r.outcome != Ongoing {
		return errStop
	}
	if rec.Kind == DataChange {
		return r.change(&rec.Change)
	}
	if rec.Kind == Heartbeat {
		r.heartbeat(rec)
		return nil
	}
	return r.event(rec, r.isAgain(rec.At, nil, rec.Sequence))
}

// isAgain reports whether a record has been read before a break. Once a later
// one comes, none does any more.
func (r *reader) isAgain(at Timestamp, transaction, sequence []byte) bool {
	if r.again == nil {
		return false
	}
	if at != r.seen.at {
		r.again = nil
		return false
	}
	var scratch [128]byte
	_, again := r.again[string(appendID(scratch[:0], transaction, sequence))]
	return again
}

// checkOrder wants the records of a partition in the order of their times: one
// that comes too late would be lost after a break.
func (r *reader) checkOrder(at Timestamp) error {
	if at < r.position {
		return status.Errorf(codes.Internal, "a record of %v came after %v", at, r.position)
	}
	return nil
}

func (r *reader) change(c *Change) error {
	if r.isAgain(c.Commit, c.Transaction, c.Sequence) {
		r.opt.Progress.RecordsRepeated.Add(1)
		return nil
	}
	if err := r.checkOrder(c.Commit); err != nil {
		return err
	}
	r.opt.Progress.Records.Add(1)
	out, lines, kept, err := r.encoder.change(r.batch.bytes, c)
	r.batch.bytes = out
	if err != nil {
		return err
	}
	if kept {
		r.batch.add(c.Commit, c.Transaction, c.Sequence, lines, true)
	}
	r.reached(c.Commit, c.Transaction, c.Sequence)
	return nil
}

// reached notes that the record has been dealt with.
func (r *reader) reached(at Timestamp, transaction, sequence []byte) {
	r.seen.add(at, transaction, sequence)
	r.position = at
	r.batch.moveTo(at)
}

// moveTo moves the position of the batch. What keys moved at an earlier time
// does not matter any more.
func (b *batch) moveTo(at Timestamp) {
	if at > b.position {
		b.position, b.movedOut = at, nil
	}
}

// heartbeat takes the promise that nothing up to its time is still to come. A
// late one promises nothing new.
func (r *reader) heartbeat(rec *Record) {
	r.opt.Progress.Heartbeats.Add(1)
	if rec.At < r.position {
		return
	}
	if r.opt.Heartbeats {
		r.line(rec)
	}
	r.position = rec.At
	r.batch.moveTo(rec.At)
}

// line puts a record that is no data change record among the output.
func (r *reader) line(rec *Record) {
	r.batch.bytes = r.encoder.event(r.batch.bytes, rec)
	var sequence []byte
	if rec.Kind != Heartbeat {
		sequence = rec.Sequence
	}
	r.batch.add(rec.At, nil, sequence, 1, false)
}

// event takes a record about partitions. One that comes again after a break has
// been written and waited for, but what it tells must be known all the same.
func (r *reader) event(rec *Record, again bool) error {
	if r.token == RootToken {
		rec.At = max(rec.At, r.position) // the partitions at its start may be older
	}
	if err := r.checkOrder(rec.At); err != nil {
		return err
	}
	switch {
	case again:
	case r.opt.PartitionEvents:
		r.line(rec)
	case r.mutable:
		r.batch.add(rec.At, nil, rec.Sequence, 0, false)
	}
	if !again {
		r.reached(rec.At, nil, rec.Sequence)
	}
	switch rec.Kind {
	case ChildPartitions, PartitionStart:
		return r.addChildren(rec)
	case PartitionEnd:
		if r.token == RootToken {
			return status.Error(codes.Internal, "the initial query told of the end of a partition")
		}
		r.finish(Ended)
		return errStop
	default:
		if again {
			return nil
		}
		return r.moves(rec)
	}
}

func (r *reader) addChildren(rec *Record) error {
	if rec.Kind == PartitionStart != r.mutable {
		return status.Error(codes.Internal, "a record about partitions is not one of the stream's partition mode")
	}
	for _, c := range rec.Children {
		child := Child{Token: string(c.Token), Start: rec.At}
		for _, parent := range c.Parents {
			child.Parents = append(child.Parents, string(parent))
		}
		switch {
		case child.Token == RootToken || child.Token == r.token:
			return fmt.Errorf("partition %s has a child without a token of its own", short(r.token))
		case r.token == RootToken && !r.mutable:
			// Until the initial query has ended, it may tell of more.
			child.Parents = append(child.Parents, RootToken)
		}
		r.batch.children = append(r.batch.children, child)
	}
	r.children = r.children || len(rec.Children) > 0
	return nil
}

// moves takes the record of keys that moved between partitions at one time. Who
// took keys over must wait until the changes of these that the others have are
// in the output.
func (r *reader) moves(rec *Record) error {
	for _, token := range rec.MovedOut {
		r.batch.movedOut = append(r.batch.movedOut, string(token))
	}
	for _, token := range rec.MovedIn {
		if string(token) != r.token {
			r.batch.awaits = append(r.batch.awaits, Await{Token: string(token), Until: rec.At})
		}
	}
	if len(r.batch.awaits) > 0 {
		r.finish(Parked)
		return errStop
	}
	return nil
}
