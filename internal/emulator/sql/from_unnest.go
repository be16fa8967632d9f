package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// unnestScan gives a row per element of an array; a NULL array has none.
type unnestScan struct {
	array expr
	// wants are cells by column: the element, or its fields, then the offset.
	wants []wanted
	// fields tells that columns are the fields of STRUCT elements.
	fields int
	offset int
}

func (u *unnestScan) want(col, cell int, _ *value.Type) {
	u.wants = append(u.wants, wanted{col, cell})
}

func (u *unnestScan) scan(e *env, yield func() error) error {
	array, err := u.array.eval(e)
	if err != nil {
		return err
	}
	for i, item := range array.List() {
		for _, w := range u.wants {
			e.cells[w.cell].setValue(u.column(w.slot, i, item))
		}
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

func (u *unnestScan) column(col, i int, item value.Value) value.Value {
	switch {
	case col == u.offset:
		return value.Int64(int64(i))
	case u.fields < 0:
		return item
	case item.IsNull():
		return value.Null(item.Type().Fields[col].Type)
	}
	return item.List()[col]
}

func (s *scope) unnest(n ast.Node, array ast.Expr, as *ast.AsAlias, withOffset *ast.WithOffset, sample *ast.TableSample) (source, error) {
	if sample != nil {
		return nil, unimplemented("TABLESAMPLE")
	}
	x, err := s.expr(array)
	if err == nil {
		x, err = s.a.settle(x)
	}
	if err != nil {
		return nil, err
	}
	if x.typ().Code != value.ArrayCode {
		return nil, s.a.invalidAt(array, "Values referenced in UNNEST must be arrays. UNNEST contains expression of type %s", x.typ())
	}
	u := &unnestScan{array: x, fields: -1}
	elem := x.typ().Elem
	var cols []rangeCol
	if elem.Code == value.StructCode {
		u.fields = len(elem.Fields)
		for _, f := range elem.Fields {
			cols = append(cols, rangeCol{name: f.Name, typ: f.Type})
		}
	} else {
		cols = []rangeCol{{name: aliasOr(as, ""), typ: elem}}
	}
	u.offset = len(cols)
	if withOffset != nil {
		cols = append(cols, rangeCol{name: aliasOr(withOffset.As, "offset"), typ: value.Int64Type})
	}
	name := ""
	if u.fields >= 0 {
		name = aliasOr(as, "")
	}
	rv, err := s.addVar(n, name, u, cols)
	if err != nil {
		return nil, err
	}
	return rv.leaf, nil
}
