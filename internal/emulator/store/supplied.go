package store

import (
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// supplied is a value that a column gets when none is written: by DEFAULT or
// ON UPDATE.
type supplied struct {
	expr relation.Expression
	// pending is the commit timestamp; expr is nil then.
	pending bool
}

// cell is the value's wire form. ts is the commit's timestamp in microseconds.
func (v *supplied) cell(ts int64) ([]byte, error) {
	if v.pending {
		return value.Timestamp(time.UnixMicro(ts).UTC()).AppendWire(nil), nil
	}
	x, err := v.expr(noCell)
	return x.AppendWire(nil), err
}

// compileSupplied compiles a DEFAULT or ON UPDATE; nil if there is none.
func compileSupplied(c *catalog.Column, x *catalog.Expr, build func(*catalog.Expr, *value.Type) (relation.Expression, error)) (*supplied, error) {
	switch {
	case x == nil:
		return nil, nil
	case x.IsPendingCommitTimestamp():
		return &supplied{pending: true}, nil
	}
	expr, err := build(x, c.Type)
	return &supplied{expr: expr}, err
}

// updated are the columns that an update of a row supplies beside those it
// writes.
func (s *shape) updated() []*catalog.Column {
	var out []*catalog.Column
	for _, c := range s.plan.table.Columns {
		if s.source[c.Slot] < 0 && s.plan.onUpdate[c.Slot] != nil {
			out = append(out, c)
		}
	}
	return out
}

// stamped tells whether rows that the shape inserts get the commit timestamp by
// default.
func (s *shape) stamped() bool {
	if s.op == opUpdate {
		return false
	}
	for _, c := range s.plan.table.Columns {
		if d := s.plan.defaults[c.Slot]; d != nil && d.pending && s.source[c.Slot] < 0 {
			return true
		}
	}
	return false
}
