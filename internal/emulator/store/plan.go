package store

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// planSet is everything about one schema that writing needs, resolved once.
// It is immutable.
type planSet struct {
	schema *catalog.Schema
	tables map[string]*plan // by folded name
	// watched tells that a change stream watches one of the tables.
	watched bool
}

func (p *planSet) table(name string) (*plan, bool) {
	t, ok := p.tables[catalog.Fold(name)]
	return t, ok
}

// plan says how to write one table.
type plan struct {
	table *catalog.Table
	tree  *tree
	// watched tells that a change stream watches the table.
	watched  bool
	parent   *plan
	children []*plan
	indexes  []*indexPlan
	// computed are columns whose value comes from an expression over the row.
	computed []computed
	checks   []check
	// defaults and onUpdate by slot; nil where a column has none.
	defaults, onUpdate []*supplied
	// updates tells that a column has ON UPDATE.
	updates bool
	// evaluated are the columns whose values may come from an expression: they
	// are checked against their declaration at the end of the transaction, as
	// Spanner evaluates them there.
	evaluated []*catalog.Column
	// identity by slot; nil where a column makes no values.
	identity []*catalog.Counter
	outgoing []*foreignKey
	incoming []*foreignKey
	// unstamped tells by slot of key columns that may not hold commit timestamps
	// because a table of the interleave hierarchy does not allow them there.
	unstamped []bool
}

// deferred tells that rows need a look at the end of the transaction.
func (p *plan) deferred() bool {
	return len(p.evaluated)+len(p.checks)+len(p.outgoing)+len(p.incoming) > 0
}

// cascades tells that a foreign key with ON DELETE CASCADE starts or ends here,
// so that what is written has to be held against what is deleted.
func (p *plan) cascades() bool {
	cascade := func(fk *foreignKey) bool { return fk.def.OnDelete == catalog.Cascade }
	return slices.ContainsFunc(p.outgoing, cascade) || slices.ContainsFunc(p.incoming, cascade)
}

type computed struct {
	column *catalog.Column
	expr   relation.Expression
}

type check struct {
	name string
	expr relation.Expression
}

type indexPlan struct {
	index *catalog.Index
	tree  *tree
	// entry are the columns of an entry's cells.
	entry []*catalog.Column
	// notNull are the columns that must not be NULL for a row to be indexed.
	notNull []*catalog.Column
	key     []keyColumn // index key and primary key suffix
	keyLen  int         // parts of the index key proper
}

type keyColumn struct {
	column *catalog.Column
	order  value.KeyOrder
}

// foreignKey resolves one enforced foreign key.
type foreignKey struct {
	def            *catalog.ForeignKey
	from, to       *plan
	fromCols       []*catalog.Column
	toCols         []*catalog.Column
	fromIdx, toIdx *indexPlan // nil: the primary key serves
}

// newPlans resolves a schema. Trees must exist for its tables and indexes.
func (s *Store) newPlans(schema *catalog.Schema, trees map[int]*tree) (*planSet, error) {
	set := &planSet{schema: schema, tables: make(map[string]*plan, len(schema.Tables))}
	for _, t := range schema.Tables {
		p := &plan{table: t, tree: trees[t.ID], watched: schema.Watched(t)}
		set.watched = set.watched || p.watched
		for _, x := range t.Indexes {
			p.indexes = append(p.indexes, newIndexPlan(t, x, trees[x.ID]))
		}
		if err := p.compile(schema, s.compiler); err != nil {
			return nil, err
		}
		p.identity = s.identities(t)
		set.tables[catalog.Fold(t.Name)] = p
	}
	for _, t := range schema.Tables {
		set.link(t)
	}
	for _, p := range set.tables {
		p.markUnstamped()
	}
	return set, nil
}

// markUnstamped looks at the tables above and below for key columns that lack
// allow_commit_timestamp.
func (p *plan) markUnstamped() {
	p.unstamped = make([]bool, p.table.Slots)
	stamped := func(o *plan, part int) bool {
		return part >= len(o.table.PrimaryKey) || o.table.Columns[o.table.PrimaryKey[part].Column].AllowCommitTimestamp
	}
	var below func(o *plan, part int) bool
	below = func(o *plan, part int) bool {
		return stamped(o, part) && !slices.ContainsFunc(o.children, func(c *plan) bool { return !below(c, part) })
	}
	for part, k := range p.table.PrimaryKey {
		ok := below(p, part)
		for o := p.parent; o != nil; o = o.parent {
			ok = ok && stamped(o, part)
		}
		p.unstamped[p.table.Columns[k.Column].Slot] = !ok
	}
}

func (p *planSet) link(t *catalog.Table) {
	self, _ := p.table(t.Name)
	if t.Interleave == catalog.InParent {
		self.parent, _ = p.table(t.Parent)
		self.parent.children = append(self.parent.children, self)
	}
	for _, f := range t.ForeignKeys {
		if !f.Enforced {
			continue
		}
		to, _ := p.table(f.ReferencedTable)
		fk := &foreignKey{def: f, from: self, to: to}
		refs := make([]int, len(f.Columns))
		for i, n := range f.Columns {
			fk.fromCols = append(fk.fromCols, t.Columns[n])
			c, _ := to.table.Column(f.ReferencedColumns[i])
			fk.toCols = append(fk.toCols, c)
			refs[i] = c.Ordinal
		}
		fk.fromIdx = self.indexPlan(t.LookupIndex(f.Columns))
		fk.toIdx = to.indexPlan(to.table.LookupIndex(refs))
		self.outgoing = append(self.outgoing, fk)
		to.incoming = append(to.incoming, fk)
	}
}

func (p *plan) indexPlan(x *catalog.Index) *indexPlan {
	for _, ip := range p.indexes {
		if ip.index == x {
			return ip
		}
	}
	return nil
}

func newIndexPlan(t *catalog.Table, x *catalog.Index, tr *tree) *indexPlan {
	ip := &indexPlan{index: x, tree: tr, keyLen: len(x.Key)}
	for _, n := range x.EntryColumns() {
		ip.entry = append(ip.entry, t.Columns[n])
	}
	for _, k := range x.Key {
		ip.key = append(ip.key, keyColumn{t.Columns[k.Column], k.Order()})
		if x.NullFiltered {
			ip.notNull = append(ip.notNull, t.Columns[k.Column])
		}
	}
	for _, k := range x.Suffix {
		ip.key = append(ip.key, keyColumn{t.Columns[k.Column], k.Order()})
	}
	for _, n := range x.NotNullColumns {
		ip.notNull = append(ip.notNull, t.Columns[n])
	}
	return ip
}

// compile prepares the table's expressions, generated columns in an order in
// which each comes after those it depends on.
func (p *plan) compile(schema *catalog.Schema, compiler relation.Compiler) error {
	p.defaults, p.onUpdate = make([]*supplied, p.table.Slots), make([]*supplied, p.table.Slots)
	build := func(e *catalog.Expr, t *value.Type) (relation.Expression, error) {
		if compiler == nil {
			return nil, status.Error(codes.Unimplemented, "Expressions in DDL are not supported")
		}
		return compiler.Compile(schema, p.table, e, t)
	}
	for _, c := range p.table.Columns {
		if c.Default != nil || c.Generated != nil {
			p.evaluated = append(p.evaluated, c)
		}
		var err error
		if p.defaults[c.Slot], err = compileSupplied(c, c.Default, build); err != nil {
			return err
		}
		if p.onUpdate[c.Slot], err = compileSupplied(c, c.OnUpdate, build); err != nil {
			return err
		}
		p.updates = p.updates || c.OnUpdate != nil
	}
	for _, c := range generatedInOrder(p.table) {
		expr, err := build(c.Generated, c.Type)
		if err != nil {
			return err
		}
		p.computed = append(p.computed, computed{c, expr})
	}
	for _, k := range p.table.Checks {
		expr, err := build(k.Expr, value.BoolType)
		if err != nil {
			return err
		}
		p.checks = append(p.checks, check{k.Name, expr})
	}
	return nil
}

func generatedInOrder(t *catalog.Table) []*catalog.Column {
	var out []*catalog.Column
	done := make(map[*catalog.Column]bool)
	var visit func(c *catalog.Column)
	visit = func(c *catalog.Column) {
		if c.Generated == nil || done[c] {
			return
		}
		done[c] = true
		for _, name := range catalog.Columns(c.Generated.Node) {
			if dep, ok := t.Column(name); ok {
				visit(dep)
			}
		}
		out = append(out, c)
	}
	for _, c := range t.Columns {
		visit(c)
	}
	return out
}
