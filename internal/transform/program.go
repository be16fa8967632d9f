package transform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/itchyny/gojq"
)

// Program is a compiled jq program with counts of what has passed through it.
// It may be used by many goroutines at once.
type Program struct {
	code    *gojq.Code
	seen    atomic.Int64
	skipped atomic.Int64
}

// Compile compiles a jq program. A program cannot read files, the environment
// or other records.
func Compile(source string) (*Program, error) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("jq program: %w", oneLine(err))
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq program: %w", oneLine(err))
	}
	return &Program{code: code}, nil
}

func oneLine(err error) error {
	if text := err.Error(); strings.Contains(text, "\n") {
		return errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}

// Skipped returns how many records the program has made nothing of.
func (p *Program) Skipped() int64 { return p.skipped.Load() }

// Error is the failure of a program on one record.
type Error struct {
	// Record counts from 1 in the order in which records reached the program,
	// which is their order in the output only where one goroutine encodes.
	Record int64

	// Cause may hold values of the record; the text of Error does not.
	Cause error
}

func (e *Error) Error() string {
	return fmt.Sprintf("record %d: jq program failed: %s", e.Record, withoutValues(e.Cause))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// withoutValues returns what gojq says up to the first value, which it puts in
// parentheses or quotes. What a program says with error() is a value itself.
func withoutValues(err error) string {
	var value gojq.ValueError
	if errors.As(err, &value) {
		return "it raised an error"
	}
	text := err.Error()
	if i := strings.IndexAny(text, "(\"\n{["); i >= 0 {
		text = strings.TrimRight(text[:i], " :")
	}
	return text
}

// run is one goroutine's use of a program.
type run struct {
	*Program
	columns map[string]int // the order of the fields of an object, if known
	keys    []string       // scratch
}

// What a program may make of one record: 16 MiB, and more of a record that is
// itself so large. A program such as repeat(.) never ends.
const (
	maxMade      = 16 << 20
	maxMadeTimes = 4
)

var errTooMuch = errors.New("it makes more than 16 MiB of one record")

// append runs the program on one record, a JSON value, and appends the records
// it makes, each on a line of its own, to dst. It returns how many there are.
// Cancelling ctx ends a program that does not end by itself.
func (r *run) append(ctx context.Context, dst, record []byte) ([]byte, int, error) {
	number := r.seen.Add(1)
	start := len(dst)
	input, err := decode(record)
	if err != nil {
		return dst, 0, &Error{number, err}
	}
	count := 0
	for iter := r.code.RunWithContext(ctx, input); ; count++ {
		output, ok := iter.Next()
		if !ok {
			break
		}
		if err, failed := output.(error); failed {
			if cause := context.Cause(ctx); cause != nil {
				return dst[:start], 0, cause
			}
			return dst[:start], 0, &Error{number, err}
		}
		if isSame(input, output) {
			dst = append(dst, record...)
		} else if dst, err = r.appendValue(dst, output, true); err != nil {
			return dst[:start], 0, &Error{number, err}
		}
		if dst = append(dst, '\n'); len(dst)-start > max(maxMade, maxMadeTimes*len(record)) {
			return dst[:start], 0, &Error{number, errTooMuch}
		}
	}
	if count == 0 {
		r.skipped.Add(1)
	}
	return dst, count, nil
}

// decode reads a record into what gojq works on. Numbers stay text, which gojq
// converts when a program computes with them: whole ones without losing a digit.
func decode(record []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(record))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("record is not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("record is more than one JSON value")
	}
	return v, nil
}

// isSame reports whether a program has handed on its input, as select does.
// gojq never changes a value in place, so then the record's text is the answer.
func isSame(input, output any) bool {
	in, ok := input.(map[string]any)
	if !ok {
		return false
	}
	out, ok := output.(map[string]any)
	return ok && reflect.ValueOf(in).Pointer() == reflect.ValueOf(out).Pointer()
}
