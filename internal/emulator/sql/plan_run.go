package sql

import (
	"spanbulk/internal/emulator/value"
)

// run evaluates the plan. The cells given to yield are overwritten by the next
// row, and their bytes valid only until then.
func (p *plan) run(rt *runtime, outer *env, yield func(row []cell) error) error {
	skip, left, err := p.window(rt, outer)
	if err != nil || left == 0 {
		return err
	}
	full := false
	windowed := func(row []cell) error {
		if skip > 0 {
			skip--
			return nil
		}
		if err := yield(row); err != nil {
			return err
		}
		if left--; left == 0 {
			full = true
			return errStop
		}
		return nil
	}
	if len(p.order) > 0 && !p.inKeyOrder {
		err = p.sorted(rt, outer, windowed)
	} else {
		err = p.unsorted(rt, outer, windowed)
	}
	if err == errStop && full {
		return nil
	}
	return err
}

func (p *plan) unsorted(rt *runtime, outer *env, yield func(row []cell) error) error {
	row := make([]cell, len(p.out))
	seen := p.newSet()
	return p.rows(rt, outer, func(e *env) error {
		if err := p.project(e, row); err != nil {
			return err
		}
		if fresh, err := p.isFresh(seen, row); err != nil || !fresh {
			return err
		}
		return yield(row)
	})
}

// rows gives the env of every row after WHERE, GROUP BY and HAVING.
func (p *plan) rows(rt *runtime, outer *env, yield func(e *env) error) error {
	if p.group != nil {
		return p.group.run(p, rt, outer, yield)
	}
	return p.input(rt, outer, yield)
}

// input gives the env of every row after WHERE.
func (p *plan) input(rt *runtime, outer *env, yield func(e *env) error) error {
	e := &env{rt: rt, cells: make([]cell, len(p.scope.owners)), outer: outer}
	row := func() error {
		for _, cond := range p.where {
			if ok, err := isTrue(e, cond); err != nil || !ok {
				return err
			}
		}
		return yield(e)
	}
	if p.root == nil {
		return row()
	}
	return p.root.run(e, row)
}

// project evaluates the select list, passing on cells that are merely named.
func (p *plan) project(e *env, row []cell) error {
	for i := range p.out {
		if c, ok := p.out[i].x.(*columnExpr); ok {
			from := c.at(e)
			if from.wire != nil {
				row[i].setWire(from.wire)
			} else {
				row[i].setValue(from.val)
			}
			continue
		}
		v, err := p.out[i].x.eval(e)
		if err != nil {
			return err
		}
		row[i].setValue(v)
	}
	return nil
}

// newSet is the set of rows seen, for DISTINCT.
func (p *plan) newSet() map[string]struct{} {
	if !p.distinct {
		return nil
	}
	return make(map[string]struct{})
}

func (p *plan) isFresh(seen map[string]struct{}, row []cell) (bool, error) {
	if seen == nil {
		return true, nil
	}
	var key []byte
	for i := range row {
		v, err := row[i].get(p.out[i].x.typ())
		if err != nil {
			return false, err
		}
		key = appendHash(key, v)
	}
	if _, old := seen[string(key)]; old {
		return false, nil
	}
	seen[string(key)] = struct{}{}
	return true, nil
}

// window evaluates OFFSET and LIMIT; left is -1 without a limit.
func (p *plan) window(rt *runtime, outer *env) (skip, left int64, err error) {
	e := &env{rt: rt, outer: outer}
	if skip, err = windowValue(e, p.offset, "OFFSET", 0); err != nil {
		return 0, 0, err
	}
	left, err = windowValue(e, p.limit, "LIMIT", -1)
	return skip, left, err
}

func windowValue(e *env, x expr, name string, absent int64) (int64, error) {
	if x == nil {
		return absent, nil
	}
	v, err := x.eval(e)
	if err != nil {
		return 0, err
	}
	if v.IsNull() || v.AsInt64() < 0 {
		return 0, invalid("%s expects a non-negative integer literal or parameter", name)
	}
	return v.AsInt64(), nil
}

// encode appends a row of cells in wire form.
func encode(dst value.Row, row []cell) value.Row {
	for i := range row {
		dst = row[i].appendTo(dst)
	}
	return dst
}
