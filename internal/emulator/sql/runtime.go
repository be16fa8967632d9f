package sql

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// runtime is what one run of a query has in common.
type runtime struct {
	ctx  context.Context
	snap relation.Snapshot
	// now is CURRENT_TIMESTAMP, the same throughout a run.
	now time.Time
	loc *time.Location
	// within restricts the driving scan to part of its keys; nil means all.
	driver *tableScan
	within []relation.KeyRange
	// memo keeps what is computed once a run: results of uncorrelated
	// subqueries and inner sides of joins, by plan node.
	memo map[any]any
	// steps counts rows, to look at the context now and then.
	steps int
}

// step counts a row and reports a run that has been cancelled.
func (rt *runtime) step() error {
	const every = 1024
	if rt.steps++; rt.steps%every != 0 || rt.ctx == nil {
		return nil
	}
	if err := rt.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// env holds the cells an expression can see: those of its own query, and by
// way of outer those of the queries around it.
type env struct {
	rt    *runtime
	cells []cell
	outer *env
}

// cell is one value of the current row, decoded when first looked at.
type cell struct {
	// wire is the google.protobuf.Value, valid until the scan moves on; nil
	// for a value that was computed.
	wire []byte
	val  value.Value
	// decoded tells that val is set.
	decoded bool
}

func (c *cell) setWire(wire []byte)    { c.wire, c.decoded = wire, false }
func (c *cell) setValue(v value.Value) { c.wire, c.val, c.decoded = nil, v, true }
func (c *cell) setNull(t *value.Type)  { c.setValue(value.Null(t)) }
func (c *cell) isNull() bool           { return c.decoded && c.val.IsNull() || value.IsNullWire(c.wire) }
func (c *cell) appendTo(row value.Row) value.Row {
	if c.wire != nil {
		return row.AppendCell(c.wire)
	}
	return row.AppendValue(c.val)
}

// get decodes the cell as a value of type t.
func (c *cell) get(t *value.Type) (value.Value, error) {
	if !c.decoded {
		v, err := value.FromWire(t, c.wire)
		if err != nil {
			return value.Value{}, outOfRange("Stored value cannot be read as %s", t)
		}
		c.val, c.decoded = v, true
	}
	return c.val, nil
}

// keep copies cells so that they outlive the row they came from.
func keep(cells []cell) []cell {
	out := slices.Clone(cells)
	for i := range out {
		out[i].wire = slices.Clone(out[i].wire)
	}
	return out
}
