package cmd

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/fault"
	"spanbulk/internal/keyset"
	"spanbulk/internal/reader"
	"spanbulk/internal/schema"
)

// placeParam is what a parameter of the PostgreSQL dialect is called.
var placeParam = regexp.MustCompile(`^p[1-9][0-9]*$`)

// bindParams types --param by the dialect.
func (x *exporter) bindParams() error {
	x.params = make(map[string]keyset.Param, len(x.plan.params))
	for _, p := range x.plan.params {
		if x.dialect == schema.PostgreSQL && !placeParam.MatchString(p.name) {
			return usagef("--param %s: parameters of the PostgreSQL dialect are named after their place: p1 is $1", p.name)
		}
		kind, err := x.dialect.ParseType(p.kind)
		if err != nil {
			return usagef("--param %s: %w", p.name, err)
		}
		value, err := keyset.ParseParam(kind, p.value)
		if err != nil {
			return usagef("--param %s: %w", p.name, err)
		}
		x.params[p.name] = keyset.Param{Type: kind, Value: value}
	}
	return nil
}

// query makes the source of a statement, with the columns Spanner says it has.
func (x *exporter) query(ctx context.Context, sql string) (reader.Source, error) {
	source := reader.Source{SQL: sql}
	for name, p := range x.params {
		if source.Params == nil {
			source.Params = &structpb.Struct{Fields: map[string]*structpb.Value{}}
			source.ParamTypes = map[string]*spannerpb.Type{}
		}
		source.Params.Fields[name], source.ParamTypes[name] = p.Value, p.Type
	}
	var err error
	source.Fields, err = x.reader.Describe(ctx, x.snapshot, source)
	return source, err
}

// source makes the read of a table, or a query where a read cannot do it: of a
// view, with a condition that is no key set, or through an index that lacks
// columns.
func (x *exporter) source(ctx context.Context, t *schema.Table, columns []schema.Column) (reader.Source, error) {
	o := &x.plan.options.source
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	index, isCovering, err := o.findIndex(t, names)
	switch {
	case err != nil:
		return reader.Source{}, err
	case t.View && o.hasKeys():
		return reader.Source{}, usagef("%s is a view and has no keys", t.Name)
	case !isCovering && o.hasKeys():
		return reader.Source{}, usagef("--key, --key-range and --key-prefix of an index need columns that the index holds")
	}
	keys, isRead, err := x.keySet(t, index)
	if err != nil {
		return reader.Source{}, err
	}
	if t.View || !isCovering || !isRead {
		sql := selectSQL(t, index, names, o.where)
		source, err := x.query(ctx, sql)
		return source, whereFault(err, t, o.where, strings.TrimSuffix(sql, o.where))
	}
	source := reader.Source{Table: t.Name.String(), Columns: names, Keys: keys}
	if index != nil {
		source.Index = t.IndexName(*index).String()
	}
	source.Fields, err = x.fields(ctx, t, columns, names)
	return source, err
}

// whereFault names what the user wrote of the query that did not pass, which
// stands behind before.
func whereFault(err error, t *schema.Table, where, before string) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || where == "" {
		return err
	}
	named := *e
	named.Object = "--where of table " + t.Name.String()
	named.Reason = placeIn(e.Reason, before)
	return &named
}

// placeInSQL is a place in the first line of a query as GoogleSQL and PostgreSQL
// have it.
var placeInSQL = regexp.MustCompile(`(\[at 1:|\bline 1, column )(\d+)`)

// placeIn moves the places that Spanner names in the first line of a query to
// where they are behind its first part, which the user has not written.
func placeIn(reason string, before string) string {
	return placeInSQL.ReplaceAllStringFunc(reason, func(place string) string {
		parts := placeInSQL.FindStringSubmatch(place)
		column, err := strconv.Atoi(parts[2])
		if column -= utf8.RuneCountInString(before); err != nil || column < 1 {
			return place
		}
		return parts[1] + strconv.Itoa(column)
	})
}

// fields are the columns of a read, as the schema has them or, where it does not
// tell enough, as Spanner has them in the result of a query.
func (x *exporter) fields(ctx context.Context, t *schema.Table, columns []schema.Column, names []string) ([]*spannerpb.StructType_Field, error) {
	fields := make([]*spannerpb.StructType_Field, len(columns))
	for i, c := range columns {
		if needsMetadata(c.Type) {
			described, err := x.query(ctx, selectSQL(t, nil, names, ""))
			return described.Fields, err
		}
		fields[i] = &spannerpb.StructType_Field{Name: c.Name, Type: c.Type}
	}
	return fields, nil
}

// needsMetadata says that only a result's metadata tells the true type: the
// schema's text does not tell messages from enums, and may hold a type that is
// newer than this program.
func needsMetadata(t *spannerpb.Type) bool {
	for t.GetCode() == spannerpb.TypeCode_ARRAY {
		t = t.GetArrayElementType()
	}
	return t == nil || t.GetCode() == spannerpb.TypeCode_PROTO
}

// findIndex returns the index of --index, nil if there is none, and whether a
// read of it has all the columns.
func (o *sourceOptions) findIndex(t *schema.Table, columns []string) (index *schema.Index, isCovering bool, err error) {
	if o.index == "" {
		return nil, true, nil
	}
	name, err := schema.ParseName(o.index)
	if err != nil {
		return nil, false, usagef("--index: %w", err)
	}
	found, err := schema.FindIndex(t, name)
	if err != nil {
		return nil, false, err
	}
	object := "index " + found.Name + " of table " + t.Name.String()
	switch {
	case found.Type != schema.PlainIndex:
		return nil, false, fault.New(codes.FailedPrecondition, "read", object, "it is a "+found.Type+" index, which only queries can use")
	case found.State != schema.IndexReadWrite:
		return nil, false, fault.New(codes.FailedPrecondition, "read", object, "it is not READ_WRITE but "+found.State).
			WithHint("wait until it is filled, or read the table without --index")
	}
	for _, c := range columns {
		if t.Covers(found, c) {
			continue
		}
		if !o.backJoin {
			return nil, false, fault.New(codes.InvalidArgument, "read", object, "it does not hold column "+c).
				WithHint("name other --columns, or give --allow-back-join to fetch it from the table")
		}
		return &found, false, nil
	}
	return &found, true, nil
}

// selectSQL is the query of a table's columns, root-partitionable if the
// condition is.
func selectSQL(t *schema.Table, index *schema.Index, columns []string, where string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = t.Dialect.Quote(c)
	}
	sql := "SELECT " + strings.Join(quoted, ", ") + " FROM " + t.Name.SQL(t.Dialect)
	switch {
	case index == nil:
	case t.Dialect == schema.PostgreSQL:
		sql += " /*@ FORCE_INDEX = " + t.IndexName(*index).SQL(t.Dialect) + " */"
	default:
		sql += "@{FORCE_INDEX=" + t.IndexName(*index).SQL(t.Dialect) + "}"
	}
	if where != "" {
		sql += " WHERE " + where
	}
	return sql
}

// keySet returns the rows to read, nil for all of them, in the key space of the
// table or of the index. It is not a read where --where is no key set.
func (x *exporter) keySet(t *schema.Table, index *schema.Index) (set *spannerpb.KeySet, isRead bool, err error) {
	o := &x.plan.options.source
	switch {
	case o.hasKeys():
		set, err = o.keySet(keyColumns(t, index))
		return set, true, err
	case o.where == "":
		return nil, true, nil
	case t.Dialect != schema.GoogleSQL:
		return nil, false, nil
	}
	set, isRead = keyset.FromCondition(keyColumns(t, index), o.where, x.params)
	x.app.log.Debug("condition", "table", t.Name.String(), "isKeySet", isRead, "keys", len(set.GetKeys()), "ranges", len(set.GetRanges()))
	return set, isRead, nil
}

// keySet types the keys that are given by the columns of their key space.
func (o *sourceOptions) keySet(columns []keyset.Column) (*spannerpb.KeySet, error) {
	set := &spannerpb.KeySet{}
	var err error
	if set.Keys, err = parseEach("--key", o.keys, columns, keyset.ParseKey); err != nil {
		return nil, err
	}
	if set.Ranges, err = parseEach("--key-range", o.ranges, columns, keyset.ParseRange); err != nil {
		return nil, err
	}
	prefixes, err := parseEach("--key-prefix", o.prefixes, columns, keyset.ParsePrefix)
	set.Ranges = append(set.Ranges, prefixes...)
	return set, err
}

// parseEach parses the values of a flag. Its errors name the flag and the place
// among those of its name, not the value, which may be a key of a record.
func parseEach[T any](flag string, texts []string, columns []keyset.Column, parse func([]keyset.Column, string) (T, error)) ([]T, error) {
	parsed := make([]T, len(texts))
	for i, text := range texts {
		var err error
		if parsed[i], err = parse(columns, text); err == nil {
			continue
		}
		if len(texts) > 1 {
			return nil, usagef("%s (number %d): %w", flag, i+1, err)
		}
		return nil, usagef("%s: %w", flag, err)
	}
	return parsed, nil
}

// keyColumns are those of the primary key, or those that the index was made
// with: what it has of the primary key is no part of the keys of a read.
func keyColumns(t *schema.Table, index *schema.Index) []keyset.Column {
	parts := t.PrimaryKey
	if index != nil {
		parts = index.Key
	}
	columns := make([]keyset.Column, len(parts))
	for i, k := range parts {
		c, _ := t.Column(k.Column)
		columns[i] = keyset.Column{
			Name: c.Name, Type: c.Type, Descending: k.Descending,
			NullHighest: k.NullHighest, Dialect: t.Dialect,
		}
	}
	return columns
}

// partition asks for the partitions of one source.
func (x *exporter) partition(ctx context.Context, source reader.Source) (reader.Read, error) {
	if x.plan.options.source.noPartition {
		return reader.Whole(source)
	}
	read, err := x.reader.Partition(ctx, x.snapshot, source)
	if e, ok := errors.AsType[*fault.Error](err); ok && isNotPartitionable(e) {
		err = e.WithHint("take out ORDER BY, LIMIT, aggregates over the whole table, subqueries and joins, or give --no-partition to read it in one stream")
	}
	return read, err
}

// isNotPartitionable recognises Spanner's refusal to partition a query, which
// has no code of its own.
func isNotPartitionable(e *fault.Error) bool {
	return e.Code == codes.InvalidArgument &&
		(strings.Contains(e.Reason, "root partitionable") || strings.Contains(e.Reason, "root-partitionable"))
}
