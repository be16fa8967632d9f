package catalog

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Counter gives the values of a sequence or an identity column. It is the one
// thing in a schema that changes, and is shared by all versions of it.
type Counter struct {
	n *atomic.Uint64
	// skipMin and skipMax are the values that SKIP RANGE leaves out, if skips.
	skips            bool
	skipMin, skipMax int64
}

// NewCounter gives values from a number of counts, which it goes on with. The
// bounds of the values that are left out may be nil.
func NewCounter(n *atomic.Uint64, skipMin, skipMax *int64) Counter {
	c := Counter{n: n}
	if skipMin != nil && skipMax != nil {
		c.skips, c.skipMin, c.skipMax = true, *skipMin, *skipMax
	}
	return c
}

// CountFrom is a number of counts whose next is start; nil is 1.
func CountFrom(start *int64) *atomic.Uint64 {
	n := new(atomic.Uint64)
	if start != nil {
		n.Store(uint64(*start - 1))
	}
	return n
}

// Next is a new value: a count with its bits reversed, so that values are
// unique, positive and spread over the key space.
func (c Counter) Next() int64 {
	for {
		v := int64(bits.Reverse64(c.n.Add(1)) >> 1)
		if !c.skips || v < c.skipMin || v > c.skipMax {
			return v
		}
	}
}

// Sequence is a CREATE SEQUENCE object.
type Sequence struct {
	Name string
	// Options are what it was declared with, by clauses or OPTIONS.
	Options []Option
	Counter Counter
}

// Sequence finds a sequence by its name, qualified if it is in a named schema.
func (s *Schema) Sequence(name string) (*Sequence, bool) {
	i := slices.IndexFunc(s.Sequences, func(q *Sequence) bool { return strings.EqualFold(q.Name, name) })
	if i < 0 {
		return nil, false
	}
	return s.Sequences[i], true
}

// Options of sequences.
const (
	sequenceKind  = "sequence_kind"
	sequenceStart = "start_with_counter"
	sequenceMin   = "skip_range_min"
	sequenceMax   = "skip_range_max"
)

func (e *editor) createSequence(d *ast.CreateSequence) error {
	name := pathName(d.Name)
	if _, exists := e.Sequence(name); exists && d.IfNotExists {
		return nil
	}
	if err := e.freeName("Sequence", name); err != nil {
		return err
	}
	opts, err := options(d.Options)
	if err != nil {
		return err
	}
	q := &Sequence{Name: name, Options: mergeOptions(mergeOptions(nil, opts), sequenceClauses(d.Params))}
	if err := e.checkSequence(q); err != nil {
		return err
	}
	q.Counter = NewCounter(CountFrom(q.number(sequenceStart)), q.number(sequenceMin), q.number(sequenceMax))
	e.Sequences = append(e.Sequences, q)
	return nil
}

// sequenceClauses are BIT_REVERSED_POSITIVE, SKIP RANGE and START COUNTER WITH
// as the options that mean the same.
func sequenceClauses(params []ast.SequenceParam) []Option {
	var out []Option
	for _, p := range params {
		switch p := p.(type) {
		case *ast.BitReversedPositive:
			out = append(out, Option{sequenceKind, quote("bit_reversed_positive")})
		case *ast.SkipRange:
			out = append(out, Option{sequenceMin, p.Min.Value}, Option{sequenceMax, p.Max.Value})
		case *ast.StartCounterWith:
			out = append(out, Option{sequenceStart, p.Counter.Value})
		}
	}
	return out
}

func (e *editor) checkSequence(q *Sequence) error {
	_, kind := e.Option("default_sequence_kind")
	for _, o := range q.Options {
		_, notNumber := strconv.ParseInt(o.Value, 0, 64)
		switch strings.ToLower(o.Name) {
		case sequenceKind:
			if !strings.EqualFold(Unquote(o.Value), "bit_reversed_positive") {
				return status.Errorf(codes.InvalidArgument, "Unsupported sequence kind: %s. Only bit_reversed_positive is supported.", o.Value)
			}
			kind = true
		case sequenceStart, sequenceMin, sequenceMax:
			if notNumber != nil {
				return status.Errorf(codes.InvalidArgument, "Unexpected value for option: %s. It must be an integer.", o.Name)
			}
		default:
			return status.Errorf(codes.InvalidArgument, "Option: %s is unknown.", o.Name)
		}
	}
	if !kind {
		return status.Errorf(codes.InvalidArgument, "CREATE SEQUENCE statements require option `sequence_kind` to be set: %s.", q.Name)
	}
	if (q.number(sequenceMin) == nil) != (q.number(sequenceMax) == nil) {
		return status.Errorf(codes.InvalidArgument, "Sequence %s must have both of skip_range_min and skip_range_max, or none.", q.Name)
	}
	return nil
}

// number is the value of a numeric option, nil if it is not set.
func (q *Sequence) number(name string) *int64 {
	for _, o := range q.Options {
		if n, err := strconv.ParseInt(o.Value, 0, 64); err == nil && strings.EqualFold(o.Name, name) {
			return &n
		}
	}
	return nil
}

func (e *editor) alterSequence(d *ast.AlterSequence) error {
	old, ok := e.Sequence(pathName(d.Name))
	if !ok {
		return status.Errorf(codes.NotFound, "Sequence not found: %s", pathName(d.Name))
	}
	set, err := options(d.Options)
	if err != nil {
		return err
	}
	switch {
	case d.RestartCounterWith != nil:
		set = append(set, Option{sequenceStart, d.RestartCounterWith.Counter.Value})
	case d.SkipRange != nil:
		set = append(set, Option{sequenceMin, d.SkipRange.Min.Value}, Option{sequenceMax, d.SkipRange.Max.Value})
	case d.NoSkipRange != nil:
		set = append(set, Option{Name: sequenceMin}, Option{Name: sequenceMax})
	}
	q := &Sequence{Name: old.Name, Options: mergeOptions(old.Options, set)}
	if err := e.checkSequence(q); err != nil {
		return err
	}
	n := old.Counter.n
	if slices.ContainsFunc(set, func(o Option) bool { return strings.EqualFold(o.Name, sequenceStart) }) {
		n = CountFrom(q.number(sequenceStart))
	}
	q.Counter = NewCounter(n, q.number(sequenceMin), q.number(sequenceMax))
	e.Sequences[slices.Index(e.Sequences, old)] = q
	return nil
}

func (e *editor) dropSequence(d *ast.DropSequence) error {
	q, ok := e.Sequence(pathName(d.Name))
	if !ok {
		if d.IfExists {
			return nil
		}
		return status.Errorf(codes.NotFound, "Sequence not found: %s", pathName(d.Name))
	}
	for _, t := range e.Tables {
		for _, c := range t.Columns {
			if c.Default.uses(q) {
				return status.Errorf(codes.FailedPrecondition, "Cannot drop sequence `%s` because it is referenced by column `%s.%s`.", q.Name, t.Name, c.Name)
			}
		}
	}
	e.Sequences = slices.DeleteFunc(e.Sequences, func(o *Sequence) bool { return o == q })
	return nil
}

// uses tells whether an expression, which may be nil, takes values of a
// sequence.
func (x *Expr) uses(q *Sequence) bool {
	found := false
	if x != nil {
		ast.Inspect(x.Node, func(n ast.Node) bool {
			arg, ok := n.(*ast.SequenceArg)
			found = found || ok && strings.EqualFold(SequenceName(arg), q.Name)
			return !found
		})
	}
	return found
}

// SequenceName is the name in SEQUENCE name; "" if there is something else.
func SequenceName(arg *ast.SequenceArg) string {
	switch x := arg.Expr.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.Path:
		return pathName(x)
	}
	return ""
}

func (q *Sequence) ddl(p printer) string {
	if !p.postgreSQL {
		return "CREATE SEQUENCE " + p.quote(q.Name) + " OPTIONS (\n  " + strings.Join(optionTexts(q.Options), ",\n  ") + "\n)"
	}
	text := "CREATE SEQUENCE " + p.quote(q.Name) + " BIT_REVERSED_POSITIVE"
	if lo, hi := q.number(sequenceMin), q.number(sequenceMax); lo != nil && hi != nil {
		text += fmt.Sprintf(" SKIP RANGE %d %d", *lo, *hi)
	}
	if n := q.number(sequenceStart); n != nil {
		text += fmt.Sprintf(" START COUNTER WITH %d", *n)
	}
	return text
}
