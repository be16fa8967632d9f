package cdc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/schema"
)

// Stream is what INFORMATION_SCHEMA says of a change stream.
type Stream struct {
	// Database is the full name of the database.
	Database string
	// Name is the stream's name as it was created.
	Name    string
	Dialect schema.Dialect
	// All says that every table is watched. Otherwise Watched lists them; a
	// stream that watches nothing has neither.
	All     bool
	Watched []Watched
	// Options are those set in the stream's DDL, by name.
	Options map[string]string
}

// Watched is a table that a change stream names.
type Watched struct {
	Table string
	// AllColumns says that columns to come are watched, too. Otherwise Columns
	// are those that are watched besides the key; none means the key alone.
	AllColumns bool
	Columns    []string
}

// The options of change streams that matter here, and what they are unset.
const (
	optionRetention = "retention_period"
	optionCapture   = "value_capture_type"
	optionMode      = "partition_mode"

	defaultCapture = "OLD_AND_NEW_VALUES"
	modeImmutable  = "IMMUTABLE_KEY_RANGE"
	modeMutable    = "MUTABLE_KEY_RANGE"
)

// CaptureType is the stream's value capture type.
func (s *Stream) CaptureType() string { return s.option(optionCapture, defaultCapture) }

// Mutable reports whether the partition mode is MUTABLE_KEY_RANGE.
func (s *Stream) Mutable() bool { return s.option(optionMode, modeImmutable) == modeMutable }

func (s *Stream) option(name, unset string) string {
	if v, ok := s.Options[name]; ok && v != "" {
		return strings.ToUpper(v)
	}
	return unset
}

// Retention is how long Spanner keeps the stream's records; explicit is false
// where the stream's DDL does not say and fallback is the answer.
func (s *Stream) Retention(fallback time.Duration) (d time.Duration, explicit bool, err error) {
	text, ok := s.Options[optionRetention]
	if !ok || text == "" {
		return fallback, false, nil
	}
	d, err = parseRetention(text)
	return d, true, err
}

// parseRetention reads a duration literal of DDL: a whole number and a unit.
func parseRetention(text string) (time.Duration, error) {
	if text != "" {
		unit := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[text[len(text)-1]]
		if n, ok := number([]byte(text[:len(text)-1])); ok && unit > 0 && len(text) > 1 && len(text) < 10 {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("retention period %q is not a duration such as 7d or 36h", text)
}

// readSQL is the partition query. A change stream cannot be read with anything
// else around its function.
func (s *Stream) readSQL() string {
	d := s.Dialect
	var args []string
	for i := range 4 {
		placeholder, _ := d.Param(i + 1)
		args = append(args, placeholder)
	}
	list := strings.Join(args, ", ")
	if d != schema.PostgreSQL {
		return "SELECT ChangeRecord FROM " + d.Quote("READ_"+s.Name) + "(" + list + ")"
	}
	function := "read_json_"
	if s.Mutable() {
		function = "read_proto_bytes_"
	}
	return "SELECT * FROM " + d.Quote("spanner") + "." + d.Quote(function+s.Name) + "(" + list + ", null)"
}

// Log tells the facts that decide what a tail will see, and warns of those that
// surprise people later.
func (s *Stream) Log(log *slog.Logger, fallback time.Duration) {
	retention, explicit, err := s.Retention(fallback)
	attrs := []any{"name", s.Name, "watches", s.scope(), "captureType", s.CaptureType(), "partitionMode", s.option(optionMode, modeImmutable)}
	switch {
	case err != nil:
		attrs = append(attrs, "retention", s.Options[optionRetention])
	case explicit:
		attrs = append(attrs, "retention", retention)
	default:
		attrs = append(attrs, "retention", retention, "retentionFrom", "--absent-retention-fallback")
	}
	if excluded := s.exclusions(); len(excluded) > 0 {
		attrs = append(attrs, "excludes", strings.Join(excluded, ", "))
	}
	log.Info("change stream", attrs...)
	for _, w := range s.Watched {
		if !w.AllColumns {
			log.Warn("the change stream names columns: changes of others, and columns added later, do not appear",
				"table", w.Table, "columns", strings.Join(w.Columns, ", "))
		}
	}
	if !s.All && len(s.Watched) == 0 {
		log.Warn("the change stream watches nothing", "name", s.Name)
	}
}

func (s *Stream) scope() string {
	switch {
	case s.All:
		return "every table"
	case len(s.Watched) == 0:
		return "nothing"
	}
	names := make([]string, len(s.Watched))
	for i, w := range s.Watched {
		names[i] = w.Table
		switch {
		case w.AllColumns:
		case len(w.Columns) == 0:
			names[i] += " (key only)"
		default:
			names[i] += " (" + strings.Join(w.Columns, ", ") + ")"
		}
	}
	return strings.Join(names, ", ")
}

// exclusions are the set options that keep changes out of the stream.
func (s *Stream) exclusions() []string {
	var set []string
	for _, name := range []string{"exclude_insert", "exclude_update", "exclude_delete", "exclude_ttl_deletes", "allow_txn_exclusion"} {
		if strings.EqualFold(s.Options[name], "true") {
			set = append(set, name)
		}
	}
	return set
}

// describe reads what INFORMATION_SCHEMA says of a stream.
func describe(ctx context.Context, conn Conn, name string) (*Stream, error) {
	s := &Stream{Database: conn.Name().String(), Options: map[string]string{}}
	if err := s.findDialect(ctx, conn); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return s.find(ctx, conn, name) },
		func() error { return s.findTables(ctx, conn) },
		func() error { return s.findColumns(ctx, conn) },
		func() error { return s.findOptions(ctx, conn) },
	} {
		if err := step(); err != nil {
			return nil, fault.Reading(err, "look up", "change stream "+name)
		}
	}
	return s, nil
}

func (s *Stream) findDialect(ctx context.Context, q schema.Querier) error {
	catalogRows, err := q.Query(ctx, database.Statement{
		SQL: "SELECT OPTION_VALUE FROM INFORMATION_SCHEMA.DATABASE_OPTIONS WHERE OPTION_NAME = 'database_dialect'",
	})
	if err != nil {
		return fault.Reading(err, "read the dialect of", "the database")
	}
	for _, r := range catalogRows.Rows {
		if text(r, 0) == "POSTGRESQL" {
			s.Dialect = schema.PostgreSQL
		}
	}
	return nil
}

// find settles the stream's name: in GoogleSQL case does not matter, and the
// name of the function to read with is that of the stream as it was created.
func (s *Stream) find(ctx context.Context, q schema.Querier, name string) error {
	all := "`ALL`"
	if s.Dialect == schema.PostgreSQL {
		all = `"all"`
	}
	meant, err := schema.ParseName(name)
	if err != nil {
		meant = schema.Name{Name: name} // as some programs write names: without quotes, whatever is in them
	}
	result, err := q.Query(ctx, database.Statement{SQL: "SELECT CHANGE_STREAM_NAME, " + all + " FROM INFORMATION_SCHEMA.CHANGE_STREAMS"})
	if err != nil {
		return err
	}
	known, names := make([]string, len(result.Rows)), make([]schema.Name, len(result.Rows))
	for i, r := range result.Rows {
		known[i], names[i] = text(r, 0), schema.Name{Name: text(r, 0)}
	}
	at := s.Dialect.FindName(names, meant)
	if at < 0 {
		hint := fault.DidYouMean(meant.Name, known)
		switch {
		case hint != "":
		case len(known) == 0:
			hint = "it has none; create one with CREATE CHANGE STREAM"
		default:
			slices.Sort(known)
			hint = "it has " + strings.Join(known, ", ")
		}
		return fault.New(codes.NotFound, "find", "change stream "+name, "the database has no such change stream").WithHint(hint)
	}
	s.Name, s.All = known[at], truth(result.Rows[at], 1)
	return nil
}

// rows reads the rows of one view that are about the stream.
func (s *Stream) rows(ctx context.Context, q schema.Querier, columns, view string) ([][]*structpb.Value, error) {
	placeholder, param := s.Dialect.Param(1)
	result, err := q.Query(ctx, database.Statement{
		SQL:    "SELECT " + columns + " FROM INFORMATION_SCHEMA." + view + " WHERE CHANGE_STREAM_NAME = " + placeholder,
		Params: map[string]string{param: s.Name},
	})
	if err != nil {
		return nil, err
	}
	return result.Rows, nil
}

func (s *Stream) findTables(ctx context.Context, q schema.Querier) error {
	rows, err := s.rows(ctx, q, "TABLE_SCHEMA, TABLE_NAME, ALL_COLUMNS", "CHANGE_STREAM_TABLES")
	for _, r := range rows {
		s.Watched = append(s.Watched, Watched{Table: s.tableName(r), AllColumns: truth(r, 2)})
	}
	slices.SortFunc(s.Watched, func(a, b Watched) int { return strings.Compare(a.Table, b.Table) })
	return err
}

func (s *Stream) tableName(r []*structpb.Value) string {
	name := schema.Name{Schema: text(r, 0), Name: text(r, 1)}
	if name.Schema == s.Dialect.DefaultSchema() {
		name.Schema = ""
	}
	return name.String()
}

func (s *Stream) findColumns(ctx context.Context, q schema.Querier) error {
	rows, err := s.rows(ctx, q, "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME", "CHANGE_STREAM_COLUMNS")
	for _, r := range rows {
		for i := range s.Watched {
			if s.Watched[i].Table == s.tableName(r) {
				s.Watched[i].Columns = append(s.Watched[i].Columns, text(r, 2))
			}
		}
	}
	return err
}

func (s *Stream) findOptions(ctx context.Context, q schema.Querier) error {
	rows, err := s.rows(ctx, q, "OPTION_NAME, OPTION_VALUE", "CHANGE_STREAM_OPTIONS")
	for _, r := range rows {
		s.Options[strings.ToLower(text(r, 0))] = strings.Trim(text(r, 1), "'\"")
	}
	return err
}

func text(r []*structpb.Value, i int) string {
	if i >= len(r) {
		return ""
	}
	if b, ok := r[i].GetKind().(*structpb.Value_BoolValue); ok {
		return fmt.Sprint(b.BoolValue)
	}
	return r[i].GetStringValue()
}

func truth(r []*structpb.Value, i int) bool {
	switch strings.ToUpper(text(r, i)) {
	case "TRUE", "YES":
		return true
	default:
		return false
	}
}

// Watches reports whether changes of a column outside the key are in the stream.
func (s *Stream) Watches(table, column string) bool {
	if s.All {
		return true
	}
	return slices.ContainsFunc(s.Watched, func(w Watched) bool {
		return s.Dialect.SameName(w.Table, table) && (w.AllColumns || slices.Contains(w.Columns, column))
	})
}
