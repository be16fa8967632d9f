package writer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
)

// Letter is one line of a dead letter file: a refused record with all that is
// needed to understand it and to take it again.
type Letter struct {
	Input string `json:"input"`
	// Line and Number are as in Position: one of them is set.
	Line   int64 `json:"line,omitempty"`
	Number int64 `json:"number,omitempty"`
	// Format, Context and Flags are as in Source. A record that --jq made is
	// JSON whatever the input was.
	Format  string         `json:"format,omitempty"`
	Context string         `json:"context,omitempty"`
	Flags   map[string]any `json:"flags,omitempty"`
	// Made says that --jq has made the record and is not to run on it again.
	Made bool `json:"madeByJq,omitempty"`
	// Record is the record as it came in; RecordBytes instead if it is not
	// UTF-8. Both are nil where the record could not be kept, such as one that
	// is too large to be read.
	Record      *string `json:"record,omitempty"`
	RecordBytes []byte  `json:"recordBase64,omitempty"`
	Table       string  `json:"table,omitempty"`
	// Operation is as wire.Operation spells it.
	Operation string `json:"operation,omitempty"`
	// Status is the name of a status code; Message can hold record values.
	Status  string `json:"status"`
	Message string `json:"message"`
	// UnknownOutcome says that an earlier attempt may have been applied:
	// ALREADY_EXISTS may be the record's own success.
	UnknownOutcome bool `json:"unknownOutcome"`
}

// Raw returns the record's bytes as they came in.
func (l *Letter) Raw() ([]byte, error) {
	switch {
	case l.Record != nil:
		return []byte(*l.Record), nil
	case l.RecordBytes != nil:
		return l.RecordBytes, nil
	default:
		return nil, errors.New("the dead letter does not hold its record")
	}
}

// DeadLetters returns the Refuser that writes refused records to out, a Letter
// as JSON on each line, each at once: a process that is killed loses none. name
// is what people know out by. Flush is sync, if not nil: that of the file.
func DeadLetters(name string, out io.Writer, sync func() error) Refuser {
	d := &deadLetters{name: name, out: out, sync: sync}
	d.encoder = json.NewEncoder(&d.line)
	d.encoder.SetEscapeHTML(false)
	return d
}

type deadLetters struct {
	name    string
	out     io.Writer
	sync    func() error
	line    bytes.Buffer
	encoder *json.Encoder
}

func (d *deadLetters) Refuse(r *Refusal) error {
	d.line.Reset()
	err := d.encoder.Encode(letterOf(r))
	if err == nil {
		_, err = d.out.Write(d.line.Bytes())
	}
	if d.line.Cap() > maxKeptMemory {
		d.line = bytes.Buffer{}
	}
	if err == nil {
		return nil
	}
	reason := fmt.Sprintf("the refused record of %s is not in it: %v", r.Position, reasonOf(err))
	return &fault.Error{Code: codes.Unknown, Op: "write", Object: d.name, Reason: reason, Err: err}
}

func (d *deadLetters) Flush() error {
	if d.sync == nil {
		return nil
	}
	if err := d.sync(); err != nil {
		return &fault.Error{Code: codes.Unknown, Op: "write", Object: d.name, Reason: reasonOf(err).Error(), Err: err}
	}
	return nil
}

// reasonOf takes off the path, which the fault has.
func reasonOf(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// madeFormat is the format of records that --jq makes.
const madeFormat = "ndjson"

func letterOf(r *Refusal) *Letter {
	l := &Letter{
		Input: r.Source.Name, Line: r.Position.Line, Number: r.Position.Number,
		Format: r.Source.Format, Context: r.Source.Context, Flags: r.Source.Flags, Made: r.Made,
		Table: r.Table, Status: fault.CodeName(r.Code), Message: r.Message, UnknownOutcome: r.UnknownOutcome,
	}
	if r.Made {
		l.Format, l.Context = madeFormat, ""
	}
	if r.Operation != 0 {
		l.Operation = r.Operation.String()
	}
	switch {
	case r.Raw == nil:
	case utf8.Valid(r.Raw):
		text := string(r.Raw)
		l.Record = &text
	default:
		l.RecordBytes = r.Raw
	}
	return l
}

// LetterReader reads a dead letter file.
type LetterReader struct {
	name string
	in   *bufio.Reader
	line int64
}

// ReadLetters returns a LetterReader of the file called name in messages.
func ReadLetters(name string, in io.Reader) *LetterReader {
	return &LetterReader{name: name, in: bufio.NewReaderSize(in, 64<<10)}
}

// Line is the line of the Letter that Next returned last.
func (r *LetterReader) Line() int64 { return r.line }

// ErrTorn is the end of a dead letter file in the middle of a letter, as it is
// after the disk was full. The letters before it are whole.
var ErrTorn = errors.New("the letter is cut off: its record is not in the file")

// Next returns the next letter, io.EOF after the last, ErrTorn in the chain of
// its error where the last is cut off.
func (r *LetterReader) Next() (*Letter, error) {
	for {
		text, err := r.in.ReadBytes('\n')
		if len(text) == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			return nil, r.fault(err.Error(), err)
		}
		r.line++
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, r.fault(err.Error(), err)
		}
		if isBlank(text) {
			continue
		}
		if err != nil && isTorn(text) {
			return nil, r.fault(ErrTorn.Error(), ErrTorn)
		}
		return r.parse(text)
	}
}

// isTorn reports whether a line could go on to be a JSON object.
func isTorn(line []byte) bool {
	var any json.RawMessage
	return line[0] == '{' && errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&any), io.ErrUnexpectedEOF)
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

func (r *LetterReader) parse(text []byte) (*Letter, error) {
	l := new(Letter)
	// The text of a JSON error can quote the input.
	if err := json.Unmarshal(text, l); err != nil {
		return nil, r.fault("it is no dead letter, which is a JSON object", err)
	}
	if l.Status == "" {
		return nil, r.fault("it is no dead letter: it has no status", nil)
	}
	if l.Made {
		l.Format = madeFormat
	}
	return l, nil
}

func (r *LetterReader) fault(reason string, err error) error {
	return &fault.Error{
		Code: codes.InvalidArgument, Op: "read", Object: fmt.Sprintf("%s:%d", r.name, r.line), Reason: reason, Err: err,
	}
}
