package sql

import (
	"errors"
	"maps"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// signature is one way to call a function.
type signature struct {
	args []*value.Type
	// optional is how many of the last arguments may be left out; variadic
	// lets the last one be repeated.
	optional int
	variadic bool
	result   *value.Type
	f        func(v []value.Value) (value.Value, error)
}

// binder analyses a call that signatures cannot describe, from its analysed
// arguments. It returns errMismatch for arguments that do not fit.
type binder func(s *scope, args []expr) (expr, error)

// syntaxBinder analyses a call whose arguments are not all expressions, such
// as INTERVAL 1 DAY or a date part.
type syntaxBinder func(s *scope, n *ast.CallExpr) (expr, error)

// signatures are the plain functions by name.
var signatures = mergeTables(stringFunctions, mathFunctions, bytesFunctions, dateFunctions, jsonFunctions)

// binders are the functions that depend on the types of their arguments.
var binders = mergeTables(conditionalBinders, arrayBinders, timeBinders, jsonBinders)

func mergeTables[V any](tables ...map[string]V) map[string]V {
	all := make(map[string]V)
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

func (s *scope) call(n *ast.CallExpr) (expr, error) {
	name, safe, err := s.functionName(n)
	if err != nil {
		return nil, err
	}
	if _, ok := aggregateFunctions[name]; ok {
		return s.aggregateCall(n, name)
	}
	if n.Distinct || n.OrderBy != nil || n.Limit != nil || n.NullHandling != nil || n.Having != nil {
		return nil, s.a.invalidAt(n, "%s is not an aggregate function", name)
	}
	x, err := s.function(n, name)
	if err != nil {
		return nil, err
	}
	if safe {
		return &safeExpr{x}, nil
	}
	return x, nil
}

func (s *scope) functionName(n *ast.CallExpr) (name string, safe bool, err error) {
	parts := make([]string, len(n.Func.Idents))
	for i, id := range n.Func.Idents {
		parts[i] = strings.ToUpper(id.Name)
	}
	switch parts[len(parts)-1] {
	case catalog.LeftFunction:
		parts[len(parts)-1] = "LEFT"
	case catalog.RightFunction:
		parts[len(parts)-1] = "RIGHT"
	}
	if len(parts) > 1 && parts[0] == "SAFE" {
		parts, safe = parts[1:], true
	}
	if len(n.NamedArgs) > 0 && !isTokenizer(parts[len(parts)-1]) {
		return "", false, unimplemented("named arguments of " + strings.Join(parts, "."))
	}
	return strings.Join(parts, "."), safe, nil
}

func (s *scope) function(n *ast.CallExpr, name string) (expr, error) {
	if bind, ok := syntaxBinders(name); ok {
		return bind(s, n)
	}
	bind, special := binders[name]
	sigs, plain := signatures[name]
	if s.a.pg {
		bind, special, sigs, plain = pgFunction(name, bind, sigs)
	}
	if unserved(name) || s.a.pg && pgUnserved(name) {
		return nil, unimplemented("function " + s.a.functionText(name))
	}
	if !special && !plain && !s.a.pg {
		return nil, s.a.invalidAt(n, "Function not found: %s", name)
	}
	args, err := s.arguments(n)
	if err != nil {
		return nil, err
	}
	if !special && !plain {
		return nil, s.a.noFunction(n, name, args)
	}
	var x expr
	if special {
		x, err = bind(s, args)
	} else {
		x, err = s.matchSignature(sigs, args)
	}
	if errors.Is(err, errMismatch) {
		return nil, s.a.noFunction(n, name, args)
	}
	return x, err
}

// noFunction tells that no function of the name takes the arguments.
func (a *analyzer) noFunction(n *ast.CallExpr, name string, args []expr) error {
	if a.pg {
		return a.noPGFunction(n, name, args)
	}
	return a.invalidAt(n, "No matching signature for function %s for argument types: %s", name, args)
}

// unserved tells of functions that Spanner has and this package has not.
func unserved(name string) bool {
	for _, prefix := range []string{"APPROX_", "NET.", "SEARCH", "SCORE", "TOKENLIST_", "ML.", "AI.", "STDDEV", "VAR", "COSINE_", "EUCLIDEAN_", "DOT_PRODUCT", "JSON_", "LAX_", "JUSTIFY_", "ARRAY_"} {
		if strings.HasPrefix(name, prefix) && binders[name] == nil && signatures[name] == nil {
			return true
		}
	}
	switch name {
	case "FORMAT", "GET_INTERNAL_SEQUENCE_STATE", "GET_TABLE_COLUMN_IDENTITY_STATE", "FARM_FINGERPRINT",
		"NORMALIZE", "NORMALIZE_AND_CASEFOLD", "SOUNDEX", "SUBSTRING_INDEX", "MAKE_INTERVAL", "NEW_UUID", "LAST_DAY", "SINH", "COSH",
		"TANH", "ASINH", "ACOSH", "ATANH", "ERROR", "ZSTD_COMPRESS", "ZSTD_DECOMPRESS_TO_BYTES", "ZSTD_DECOMPRESS_TO_STRING":
		return true
	}
	return false
}

func (s *scope) arguments(n *ast.CallExpr) ([]expr, error) {
	args := make([]expr, len(n.Args))
	for i, arg := range n.Args {
		a, ok := arg.(*ast.ExprArg)
		if !ok {
			return nil, unimplemented(constructName(arg) + " of function " + n.Func.SQL())
		}
		x, err := s.expr(a.Expr)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	return args, nil
}

// matchSignature takes the first signature whose types the arguments have,
// else the first that they can be made to have.
func (s *scope) matchSignature(sigs []signature, args []expr) (expr, error) {
	for _, exact := range []bool{true, false} {
		for i := range sigs {
			if !sigs[i].takes(args, exact) {
				continue
			}
			out := make([]expr, len(args))
			var err error
			for j, a := range args {
				if out[j], err = s.a.coerce(a, sigs[i].arg(j)); err != nil {
					break
				}
			}
			if err == nil {
				return &strictExpr{args: out, t: sigs[i].result, f: sigs[i].f}, nil
			}
			if err != errMismatch {
				return nil, err
			}
		}
	}
	return nil, errMismatch
}

// takes tells whether the number of arguments fits, and, for exact, the types
// of those that have one.
func (g *signature) takes(args []expr, exact bool) bool {
	if len(args) < len(g.args)-g.optional || len(args) > len(g.args) && !g.variadic {
		return false
	}
	for i, a := range args {
		if exact && a.typ() != nil && !a.typ().Equal(g.arg(i)) {
			return false
		}
	}
	return true
}

func (g *signature) arg(i int) *value.Type { return g.args[min(i, len(g.args)-1)] }

// safeExpr is SAFE.f(): NULL instead of an error over data.
type safeExpr struct{ x expr }

func (x *safeExpr) typ() *value.Type { return x.x.typ() }

func (x *safeExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	if err != nil && isDataError(err) {
		return value.Null(x.typ()), nil
	}
	return v, err
}
