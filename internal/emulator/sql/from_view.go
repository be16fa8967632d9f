package sql

import (
	"slices"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
)

// view analyses a view's query, which sees nothing of the one that names it.
func (a *analyzer) view(v *catalog.View) (*plan, error) {
	if slices.Contains(a.views, v) {
		return nil, invalid("it depends on itself")
	}
	text, params := a.text, a.params
	// Positions are those of another text.
	a.text, a.params, a.views = "", nil, append(a.views, v)
	defer func() { a.text, a.params, a.views = text, params, a.views[:len(a.views)-1] }()
	p, err := a.query(v.Query, nil, nil)
	if err == nil {
		err = p.settle(a)
	}
	return p, err
}

// viewVar is a view named in FROM.
func (s *scope) viewVar(n ast.Node, v *catalog.View, name string) (source, error) {
	p, err := s.a.view(v)
	if err != nil {
		return nil, s.a.invalidAt(n, "View %s: %s", v.Name, status.Convert(err).Message())
	}
	return s.planVar(n, &planScan{plan: p}, name)
}
