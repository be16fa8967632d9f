package sql

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// Query is an analysed query, bound to the parameters and the snapshot it was
// prepared with. It is immutable: it may be run any number of times, also
// concurrently.
type Query struct {
	snap relation.Snapshot
	a    *analyzer
	plan *plan
	// bypass is the hint that skips the root-partitionable check.
	bypass bool
}

// Prepare parses and analyses a query. Errors are gRPC statuses with Spanner's
// codes: INVALID_ARGUMENT for a statement that is wrong, UNIMPLEMENTED for one
// that this package does not evaluate.
func Prepare(snap relation.Snapshot, text string, params map[string]relation.Param) (*Query, error) {
	stmt, text, nullsFirst, err := parseIn(snap.Schema(), text)
	if err != nil {
		return nil, err
	}
	a, err := newAnalyzer(text, snap.Schema(), params)
	if err != nil {
		return nil, asInvalid(err)
	}
	a.nullsFirst = nullsFirst
	a.lookup = snap.Table
	p, err := a.query(stmt.Query, nil, nil)
	if err == nil {
		err = p.settle(a)
	}
	if err == nil {
		err = a.settleParams()
	}
	if err == nil {
		err = a.checkColumns(p)
	}
	if err != nil {
		return nil, asInvalid(err)
	}
	return &Query{snap: snap, a: a, plan: p, bypass: bypassHint(stmt.Hint)}, nil
}

// parseIn parses a query in the dialect of a schema.
func parseIn(schema *catalog.Schema, text string) (stmt *ast.QueryStatement, single string, nullsFirst map[ast.Node]bool, err error) {
	if schema.PostgreSQL {
		stmt, nullsFirst, err = parsePostgreSQL(text)
		return stmt, text, nullsFirst, err
	}
	stmt, single, err = parseQuery(text)
	return stmt, single, nil, err
}

// asInvalid turns what evaluation would report about data into a fault of the
// statement, for what is evaluated while analysing, and keeps statuses.
func asInvalid(err error) error {
	if errors.Is(err, errMismatch) {
		return invalid("An expression does not have the type its place requires")
	}
	if s := status.Convert(err); s.Code() == codes.OutOfRange {
		return status.Error(codes.InvalidArgument, s.Message())
	}
	return err
}

// checkColumns refuses results that Spanner cannot send.
func (a *analyzer) checkColumns(p *plan) error {
	for _, c := range p.out {
		switch t := c.x.typ(); {
		case t.Code == value.StructCode:
			return status.Error(codes.Unimplemented, "Unsupported query shape: A struct value cannot be returned as a column value. Rewrite the query to flatten the struct fields in the result.")
		case t.Code == value.ArrayCode && t.Elem.Code == value.StructCode && !neverNull(c.x):
			return status.Error(codes.Unimplemented, "Unsupported query shape: This query can return a null-valued array of struct, which is not supported by Spanner.")
		case t.Code == value.TokenListCode:
			return unimplemented("a TOKENLIST column in a result")
		}
	}
	return nil
}

func neverNull(x expr) bool {
	switch x.(type) {
	case *arrayOfExpr, *arrayExpr:
		return true
	}
	return false
}

// Columns are the names, as Spanner spells them, and the types of the result.
func (q *Query) Columns() []value.Field { return q.plan.columns() }

// UndeclaredParameters are the parameters the request gave no type for, with
// the types the analysis found, by name. PLAN mode reports them.
func (q *Query) UndeclaredParameters() []value.Field {
	var out []value.Field
	for _, p := range q.a.params {
		if !p.declared && p.used && p.t != nil {
			out = append(out, value.Field{Name: p.name, Type: p.t})
		}
	}
	slices.SortFunc(out, func(a, b value.Field) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ReadsVirtualTables tells whether the query reads INFORMATION_SCHEMA or
// SPANNER_SYS, which read-write transactions must not.
func (q *Query) ReadsVirtualTables() bool {
	return slices.ContainsFunc(q.a.scans, func(s *tableScan) bool { return s.table.Virtual })
}

// Rows runs the query. A row is valid until the next one; an error, a gRPC
// status, ends the sequence.
func (q *Query) Rows(ctx context.Context) iter.Seq2[value.Row, error] { return q.RowsWithin(ctx, nil) }

// RowsWithin runs the query over part of its driving table: only rows whose
// keys are in one of the ranges, sorted and without overlap, are read from it.
// Nil ranges, or a query without a driving table, mean everything.
func (q *Query) RowsWithin(ctx context.Context, ranges []relation.KeyRange) iter.Seq2[value.Row, error] {
	return func(yield func(value.Row, error) bool) {
		rt := &runtime{
			ctx: ctx, snap: q.snap, now: q.snap.Now().UTC(), loc: q.a.loc,
			driver: q.plan.driver(), within: ranges, memo: make(map[any]any),
		}
		var row value.Row
		err := q.plan.run(rt, nil, func(cells []cell) error {
			row = encode(row[:0], cells)
			if !yield(row, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(nil, err)
		}
	}
}

// bypassHint recognises the official emulator's hint, which the service
// accepts and ignores.
func bypassHint(hint *ast.Hint) bool {
	if hint == nil {
		return false
	}
	for _, r := range hint.Records {
		if equalFold(r.Key.SQL(), "spanner_emulator.disable_query_partitionability_check") {
			b, ok := r.Value.(*ast.BoolLiteral)
			return ok && b.Value
		}
	}
	return false
}
