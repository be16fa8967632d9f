package postgres

import (
	"slices"

	"github.com/cloudspannerecosystem/memefish/ast"
)

// operators are those that bind alike in PostgreSQL: all but arithmetic and
// comparisons.
func (p *parser) operators() ast.Expr {
	x := p.sum()
	for p.err == nil && p.tok().kind == kindSign {
		sign := p.tok().text
		switch {
		case binaryOp(sign) != "":
			p.next()
			x = &ast.BinaryExpr{Op: binaryOp(sign), Left: x, Right: p.sum()}
		case operatorFunction(sign) != "":
			p.next()
			y := p.sum()
			x = p.callOf(operatorFunction(sign), x, y, x, y)
		case sign == "!~":
			p.next()
			y := p.sum()
			x = &ast.UnaryExpr{OpPos: x.Pos(), Op: ast.OpNot, Expr: p.callOf(operatorFunction("~"), x, y, x, y)}
		case operatorLength(sign) == 0 || isArithmetic(sign):
			return x
		default:
			p.noOperator(sign)
		}
	}
	return x
}

// noOperator refuses an operator that only PostgreSQL has, or nobody.
func (p *parser) noOperator(sign string) {
	if slices.Contains([]string{"~*", "!~*", "~~", "!~~", "~~*", "!~~*", "#>", "#>>", "@?", "@@", "^@", "-|-"}, sign) {
		p.fail(unsupported("operator " + sign))
		return
	}
	p.failAt(p.tok().pos, "operator does not exist: "+sign)
}

// binaryOp is the operator that GoogleSQL has, too; its name may differ.
func binaryOp(sign string) ast.BinaryOp {
	switch sign {
	case "||":
		return ast.OpConcat
	case "|":
		return ast.OpBitOr
	case "&":
		return ast.OpBitAnd
	case "#":
		return ast.OpBitXor
	case "<<":
		return ast.OpBitLeftShift
	case ">>":
		return ast.OpBitRightShift
	}
	return ""
}

// isArithmetic tells of the operators that are read elsewhere.
func isArithmetic(sign string) bool {
	_, compares := comparisonSign(lexeme{kind: kindSign, text: sign})
	return compares || slices.Contains([]string{"+", "-", "*", "/", "%", "^"}, sign)
}

// operatorFunctions are the operators that become a call.
func operatorFunctions() map[string]string {
	return map[string]string{
		"->":  "PG.JSONB_MEMBER",
		"->>": "PG.JSONB_MEMBER_TEXT",
		"@>":  "PG.CONTAINS",
		"<@":  "PG.CONTAINED",
		"&&":  "PG.OVERLAPS",
		"?":   "PG.HAS_KEY",
		"?|":  "PG.HAS_ANY_KEY",
		"?&":  "PG.HAS_ALL_KEYS",
		"~":   "PG.MATCHES",
	}
}

func operatorFunction(sign string) string { return operatorFunctions()[sign] }

// OperatorSign is the operator that a function PG.f stands for.
func OperatorSign(function string) (string, bool) {
	for sign, name := range operatorFunctions() {
		if name == function {
			return sign, true
		}
	}
	return "", false
}
