package reader

import (
	"context"
	"fmt"
	"time"

	apiv1 "cloud.google.com/go/spanner/apiv1"
	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/fault"
)

// Conn is the connection a Reader reads through; *database.Conn is one.
type Conn interface {
	Client() *apiv1.Client
	// Session is the name of the session that new snapshots belong to.
	Session() string
}

// Reader plans and runs bulk reads over one connection. Its methods may be
// called from many goroutines.
type Reader struct {
	conn Conn
	opt  Options
}

// New returns a Reader over conn, which must stay open as long as it is used.
func New(conn Conn, opt Options) (*Reader, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt.setDefaults()
	return &Reader{conn: conn, opt: opt}, nil
}

// Snapshot is a read-only transaction: a timestamp that everything is read at.
// It is not bound to a connection: any session of the same principal may use
// it, as long as requests name the session that began it.
type Snapshot struct {
	Session       string    `json:"session"`
	Transaction   []byte    `json:"transaction"`
	ReadTimestamp time.Time `json:"readTimestamp"`
}

func (s *Snapshot) selector() *spannerpb.TransactionSelector {
	return &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_Id{Id: s.Transaction}}
}

// Plan is a snapshot and what is to be read of it.
type Plan struct {
	Snapshot Snapshot `json:"snapshot"`
	Reads    []Read   `json:"reads"`
}

// Partitions is the number of partitions of all reads.
func (p *Plan) Partitions() int {
	n := 0
	for i := range p.Reads {
		n += len(p.Reads[i].Partitions)
	}
	return n
}

// Read is one Source and the partitions that together hold its rows.
type Read struct {
	Source     Source      `json:"source"`
	Partitions []Partition `json:"partitions"`
}

// Partition is one part of a Read. Some are empty.
type Partition struct {
	// Token is Spanner's partition token; nil is the whole source, read as one
	// stream.
	Token []byte `json:"token,omitempty"`
}

// Begin begins a read-only transaction at the bound, strong if nil. Spanner
// takes only strong, read_timestamp and exact_staleness here; the other bounds
// are for single-use reads.
func (r *Reader) Begin(ctx context.Context, bound *spannerpb.TransactionOptions_ReadOnly) (Snapshot, error) {
	if bound == nil {
		bound = &spannerpb.TransactionOptions_ReadOnly{
			TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true},
		}
	}
	bound.ReturnReadTimestamp = true
	session := r.conn.Session()
	tx, err := r.conn.Client().BeginTransaction(ctx, &spannerpb.BeginTransactionRequest{
		Session:        session,
		Options:        &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadOnly_{ReadOnly: bound}},
		RequestOptions: r.opt.requestOptions(),
	})
	if err != nil {
		return Snapshot{}, fault.Reading(err, "begin", "read-only transaction")
	}
	return Snapshot{Session: session, Transaction: tx.GetId(), ReadTimestamp: tx.GetReadTimestamp().AsTime()}, nil
}

// Partition asks Spanner for the partitions of src.
func (r *Reader) Partition(ctx context.Context, snapshot Snapshot, src Source) (Read, error) {
	if err := src.Validate(); err != nil {
		return Read{}, err
	}
	response, err := r.partition(ctx, snapshot, &src)
	if err != nil {
		return Read{}, fault.Reading(err, "partition", src.Name())
	}
	read := Read{Source: src, Partitions: make([]Partition, 0, len(response.GetPartitions()))}
	for i, p := range response.GetPartitions() {
		if len(p.GetPartitionToken()) == 0 {
			return Read{}, fmt.Errorf("partition %s: partition %d has no token", src.Name(), i)
		}
		read.Partitions = append(read.Partitions, Partition{Token: p.GetPartitionToken()})
	}
	return read, nil
}

func (r *Reader) partition(ctx context.Context, snapshot Snapshot, src *Source) (*spannerpb.PartitionResponse, error) {
	hints := &spannerpb.PartitionOptions{PartitionSizeBytes: r.opt.PartitionSizeBytes, MaxPartitions: r.opt.MaxPartitions}
	if src.SQL != "" {
		return r.conn.Client().PartitionQuery(ctx, &spannerpb.PartitionQueryRequest{
			Session:          snapshot.Session,
			Transaction:      snapshot.selector(),
			Sql:              src.SQL,
			Params:           src.Params,
			ParamTypes:       src.ParamTypes,
			PartitionOptions: hints,
		})
	}
	return r.conn.Client().PartitionRead(ctx, &spannerpb.PartitionReadRequest{
		Session:          snapshot.Session,
		Transaction:      snapshot.selector(),
		Table:            src.Table,
		Index:            src.Index,
		Columns:          src.Columns,
		KeySet:           src.keySet(),
		PartitionOptions: hints,
	})
}

// Whole is the Read of src in one piece: one stream, for a query that cannot be
// partitioned. Data Boost cannot serve it.
func Whole(src Source) (Read, error) {
	if err := src.Validate(); err != nil {
		return Read{}, err
	}
	return Read{Source: src, Partitions: []Partition{{}}}, nil
}

// Describe asks Spanner for the columns of a query, without running it.
func (r *Reader) Describe(ctx context.Context, snapshot Snapshot, src Source) ([]*spannerpb.StructType_Field, error) {
	result, err := r.conn.Client().ExecuteSql(ctx, &spannerpb.ExecuteSqlRequest{
		Session:        snapshot.Session,
		Transaction:    snapshot.selector(),
		Sql:            src.SQL,
		Params:         src.Params,
		ParamTypes:     src.ParamTypes,
		QueryMode:      spannerpb.ExecuteSqlRequest_PLAN,
		RequestOptions: r.opt.requestOptions(),
	})
	if err != nil {
		return nil, fault.Reading(err, "analyze", src.Name())
	}
	return result.GetMetadata().GetRowType().GetFields(), nil
}
