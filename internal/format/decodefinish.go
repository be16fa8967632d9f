package format

import "spanbulk/internal/wire"

var (
	nullValue            = wire.AppendNull(nil)
	commitTimestampValue = wire.AppendString(nil, commitTimestamp)
)

// finish checks a record whose fields have all been read, and fills in what is
// not in it.
func (p *plan) finish(r *Record) {
	switch {
	case r.Skip:
		r.Values = nil
		return
	case r.Range != nil:
		p.finishRange(r)
		return
	}
	for _, k := range p.target.key {
		if r.Values[k] != nil || p.mayMiss(k, r.Operation) {
			continue
		}
		if p.options.MissingNull && !p.target.columns()[k].Generated {
			r.Values[k] = nullValue
			continue
		}
		refuse(r, &RecordError{Field: p.target.label(k), Reason: errKeyMissing.Error()})
		return
	}
	if r.Operation == wire.Delete {
		for i := range r.Values {
			if !p.target.isKey(i) {
				r.Values[i] = nil
			}
		}
		return
	}
	if r.Operation != wire.Update {
		for _, i := range p.generatedKeys {
			r.Values[i] = nil
		}
	}
	for _, i := range p.nulls {
		if r.Values[i] == nil {
			r.Values[i] = nullValue
		}
	}
	for _, i := range p.commitTimes {
		r.Values[i] = commitTimestampValue
	}
}

// mayMiss reports whether Spanner or the run fills the key column. Spanner fills
// none in order to find the row of a delete or an update, not even one that it
// has computed itself.
func (p *plan) mayMiss(column int, op wire.Operation) bool {
	c := &p.target.columns()[column]
	switch {
	case op == wire.Delete:
		return false
	case op != wire.Update && (c.HasDefault || c.Generated):
		return true
	}
	for _, i := range p.commitTimes {
		if i == column {
			return true
		}
	}
	return false
}

func (p *plan) finishRange(r *Record) {
	if r.Operation != wire.Delete {
		refuse(r, &RecordError{Reason: rangeReason(errRangeNotDeleted)})
		return
	}
	for _, v := range r.Values {
		if v != nil {
			refuse(r, &RecordError{Reason: rangeReason(errRangeAndMore)})
			return
		}
	}
	r.Values = nil
}
