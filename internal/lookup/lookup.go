package lookup

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
)

// Lookup looks up keys of one table.
type Lookup struct {
	opt   Options
	conn  *database.Conn
	read  atomic.Pointer[sessionRead]
	cache *cache // nil if there is none

	// names are the columns that reads have: those wanted, then those of the key
	// that are not among them.
	names    []string
	keyAt    []int // of the key, in names
	fields   []*spannerpb.StructType_Field
	keyTypes []*spannerpb.Type
}

// Open prepares lookups over conn, which must stay open. It makes a read without
// keys, so that a table, a column or a timestamp that cannot be read is known
// before any record is, and takes the types of all columns from its answer.
func Open(ctx context.Context, conn *database.Conn, o Options) (*Lookup, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.setDefaults()
	l := &Lookup{opt: o, conn: conn, names: slices.Clone(o.Columns)}
	if o.Cache != nil {
		l.cache = newCache(*o.Cache)
	}
	for _, k := range o.Key {
		at := slices.IndexFunc(l.names, func(name string) bool { return o.Dialect.SameName(name, k.Column) })
		if at < 0 {
			at = len(l.names)
			l.names = append(l.names, k.Column)
		}
		l.keyAt = append(l.keyAt, at)
	}
	_, err := l.retried(ctx, nil, func() {}, func([]wire.Value) error { return errUnknownRow })
	if err != nil {
		return nil, l.fault(err, "read", fault.Reading)
	}
	return l, nil
}

// sessionRead is what all reads of a session have in common.
type sessionRead struct {
	*wire.PointRead
	routing *spannerpb.ReadRequest // what a call looks at before it sends the bytes
}

// current is the sessionRead of the session that there is now.
func (l *Lookup) current() (*sessionRead, error) {
	session := l.conn.Session()
	if r := l.read.Load(); r != nil && r.routing.Session == session {
		return r, nil
	}
	read, err := wire.NewPointRead(l.request(session))
	if err != nil {
		return nil, err
	}
	r := &sessionRead{read, &spannerpb.ReadRequest{Session: session}}
	l.read.Store(r)
	return r, nil
}

func (l *Lookup) request(session string) *spannerpb.ReadRequest {
	bound := l.opt.Bound
	if bound == nil {
		bound = &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}}
	}
	if l.cache != nil { // it keeps the newer of two rows
		bound = proto.CloneOf(bound)
		bound.ReturnReadTimestamp = true
	}
	return &spannerpb.ReadRequest{
		Session: session,
		Transaction: &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_SingleUse{SingleUse: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadOnly_{ReadOnly: bound},
		}}},
		Table: l.opt.Table, Index: l.opt.Index, Columns: l.names,
		RequestOptions: &spannerpb.RequestOptions{
			Priority: l.opt.Priority, RequestTag: l.opt.RequestTag, TransactionTag: l.opt.TransactionTag,
		},
		DirectedReadOptions: l.opt.DirectedReads,
		OrderBy:             spannerpb.ReadRequest_ORDER_BY_NO_ORDER, // rows are found by their keys
	}
}

// Columns are the columns that are put beside the records. They must not be
// modified.
func (l *Lookup) Columns() []*spannerpb.StructType_Field { return l.fields }

// checkColumns takes the columns of the first read, and wants the same of all
// others: the schema may change in the meantime.
func (l *Lookup) checkColumns(got []*spannerpb.StructType_Field) error {
	if len(got) != len(l.names) {
		return fmt.Errorf("the result has %d columns, expected %d", len(got), len(l.names))
	}
	if l.fields == nil {
		l.fields = make([]*spannerpb.StructType_Field, len(l.opt.Columns))
		for i, name := range l.opt.Columns {
			l.fields[i] = &spannerpb.StructType_Field{Name: name, Type: got[i].GetType()}
		}
		for _, at := range l.keyAt {
			l.keyTypes = append(l.keyTypes, got[at].GetType())
		}
		return nil
	}
	for i, f := range l.fields {
		if !proto.Equal(f.GetType(), got[i].GetType()) {
			return fmt.Errorf("column %s has become a %s, and was a %s", f.GetName(), l.opt.Dialect.TypeName(got[i].GetType()), l.opt.Dialect.TypeName(f.GetType()))
		}
	}
	return nil
}
