package sql

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
)

// Partitioning is how a query may be cut for PartitionQuery.
type Partitioning struct {
	// Table, and Index if it is not nil, are what to cut: the driving scan,
	// whose key ranges go to RowsWithin. A nil Table cannot be cut: the query
	// is one partition.
	Table *catalog.Table
	Index *catalog.Index
}

// Partition tells how the query may be cut, or refuses it, as the service does,
// when it is not root-partitionable: when rows of different splits would have
// to meet.
func (q *Query) Partition() (Partitioning, error) {
	shape := q.plan.shape()
	if shape == needsAllRows && !q.bypass {
		return Partitioning{}, notRootPartitionable()
	}
	driver := q.plan.driver()
	if driver == nil || driver.table.Virtual || shape != perRow {
		return Partitioning{}, nil
	}
	return Partitioning{Table: driver.table, Index: driver.index}, nil
}

func notRootPartitionable() error {
	st := status.New(codes.InvalidArgument, "Query is not root partitionable since it does not have a DistributedUnion at the root. "+
		"Please check the conditions for a query to be root-partitionable.")
	with, err := st.WithDetails(&errdetails.Help{Links: []*errdetails.Help_Link{{
		Description: "Conditions for a query to be root-partitionable.",
		Url:         "https://cloud.google.com/spanner/docs/reads#read_data_in_parallel",
	}}})
	if err != nil {
		return st.Err()
	}
	return with.Err()
}

// planShape is what a plan asks of the splits of its driving table.
type planShape int

const (
	// perRow plans treat each row of the driving table by itself.
	perRow planShape = iota
	// perSplit plans group rows that one split holds together.
	perSplit
	// needsAllRows plans bring rows of several splits together.
	needsAllRows
)

// shape classifies the plan. A plan that reads no stored table has nothing to
// distribute.
func (p *plan) shape() planShape {
	if countStored(p.scope.a.scans) == 0 {
		return perSplit
	}
	if len(p.order) > 0 || p.limit != nil || !p.splitLocal() {
		return needsAllRows
	}
	if p.group != nil || p.distinct {
		if p.keepsSplitsApart() {
			return perSplit
		}
		return needsAllRows
	}
	if inner, ok := p.onlySubquery(); ok {
		return inner.shape()
	}
	return perRow
}

func countStored(scans []*tableScan) int {
	n := 0
	for _, s := range scans {
		if !s.table.Virtual {
			n++
		}
	}
	return n
}

// splitLocal tells whether all that the plan reads can be found in the split of
// the driving row: one scan that needs no other table for its columns, joined
// with arrays, or with rows interleaved under the same parent.
func (p *plan) splitLocal() bool {
	if p.root == nil {
		return false
	}
	own := 0
	var first *tableScan
	for _, l := range p.root.leaves(nil) {
		scan, ok := l.producer.(*tableScan)
		if !ok {
			continue
		}
		own++
		if first == nil {
			first = scan
		} else if !p.colocated(first, scan, l) {
			return false
		}
		if scan.index != nil && !scan.covered() {
			return false
		}
	}
	if inner, ok := p.onlySubquery(); ok {
		return countStored(p.scope.a.scans) == countStored(inner.ownScans())
	}
	return own > 0 && own == len(p.scope.a.scans)
}

// ownScans are the scans of the plan's own FROM clause and of the subqueries
// that make it up alone.
func (p *plan) ownScans() []*tableScan {
	if inner, ok := p.onlySubquery(); ok {
		return inner.ownScans()
	}
	var out []*tableScan
	if p.root != nil {
		for _, l := range p.root.leaves(nil) {
			if scan, ok := l.producer.(*tableScan); ok {
				out = append(out, scan)
			}
		}
	}
	return out
}

// onlySubquery is the subquery that is all of FROM.
func (p *plan) onlySubquery() (*plan, bool) {
	l, ok := p.root.(*leaf)
	if !ok {
		return nil, false
	}
	scan, ok := l.producer.(*planScan)
	if !ok {
		return nil, false
	}
	return scan.plan, true
}

// colocated tells whether a join brings together rows of one root row: both
// tables hang under the same root, and the second is found by the root's key.
func (p *plan) colocated(first, second *tableScan, l *leaf) bool {
	if first.index != nil || second.index != nil || first.table.Virtual || second.table.Virtual {
		return false
	}
	root := p.rootOf(first.table)
	if root != p.rootOf(second.table) {
		return false
	}
	return second.seek != nil && len(second.seek.points) >= len(root.PrimaryKey) && second.seek.followsRow()
}

// rootOf is the top of the interleaving that a table is in.
func (p *plan) rootOf(t *catalog.Table) *catalog.Table {
	for t.Interleave == catalog.InParent {
		parent, ok := p.scope.a.schema.Table(t.Parent)
		if !ok {
			break
		}
		t = parent
	}
	return t
}

// keepsSplitsApart tells whether rows of different splits can never be in one
// group: the group is by the leading part of the driving table's key.
func (p *plan) keepsSplitsApart() bool {
	l, ok := p.root.(*leaf)
	if !ok {
		return false
	}
	scan, ok := l.producer.(*tableScan)
	if !ok || len(scan.keyColumns()) == 0 {
		return false
	}
	col := &keyColumn{scope: p.scope, leaf: l, column: scan.keyColumns()[0].Column}
	if p.distinct && p.group == nil {
		for _, out := range p.out {
			if col.is(out.x) {
				return true
			}
		}
		return false
	}
	for _, k := range p.group.keys {
		if col.is(k.x) {
			return !p.distinct
		}
	}
	return false
}

// driver is the scan that gives the rows the others are joined to.
func (p *plan) driver() *tableScan {
	if p.root == nil {
		return nil
	}
	first := p.root.leaves(nil)[0]
	switch producer := first.producer.(type) {
	case *tableScan:
		return producer
	case *planScan:
		if !producer.shared && !first.kept {
			return producer.plan.driver()
		}
	}
	return nil
}
