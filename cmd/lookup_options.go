package cmd

import (
	"fmt"
	"math"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/lookup"
	"spanbulk/internal/schema"
)

// joinKind says what becomes of a record without a row.
type joinKind string

const (
	joinLeft  joinKind = "left"
	joinInner joinKind = "inner"
)

// lookupTableOptions say what is looked up.
type lookupTableOptions struct {
	table, schema string
	columns       []string
	keys          []string
	index         string
	join          joinKind
	prefix, nest  string
}

func (o *lookupTableOptions) addFlags(fs *flagSet) {
	o.join = joinLeft
	g := group{fs, groupWhat}
	g.text(&o.table, "table", "`name` of the table to look up in, quoted where SQL would need it")
	g.text(&o.schema, "schema", "named `schema` of the table")
	g.names(&o.columns, "columns", "`names` of the columns to put beside each record, parted by commas (default all that can be read but the key)")
	g.texts(&o.keys, "key", "a key column and the field with its values, as `column=field`, or a column whose field has its name; for every column of the key, in any order (default the fields named as the columns)")
	g.text(&o.index, "index", "`name` of a UNIQUE index to look up through; its columns are then the key")
	g.value(&choiceValue[joinKind]{target: &o.join, choices: []joinKind{joinLeft, joinInner}}, "join", "what `kind` of join: left (records without a row come out with nulls), inner (they do not)")
	g.text(&o.prefix, "prefix", "`text` before the names of the columns, where they would be those of fields")
	g.text(&o.nest, "nest", "`field` to put all columns into, as one object; null without a row")
}

func (o *lookupTableOptions) validate(p *lookupPlan) error {
	switch {
	case o.table == "":
		return usagef("--table is not given")
	case o.prefix != "" && o.nest != "":
		return usagef("--prefix and --nest exclude each other")
	}
	names, err := (&sourceOptions{tables: []string{o.table}, schema: o.schema}).names()
	if err != nil {
		return err
	}
	p.table = names[0]
	for _, text := range o.keys {
		column, field, given := strings.Cut(text, "=")
		if column, err = schema.ParseIdent(strings.TrimSpace(column)); err != nil {
			return usagef("--key %s: %w", text, err)
		}
		if !given {
			field = column
		}
		if field == "" {
			return usagef("--key %s: not of the form column=field", text)
		}
		p.keys = append(p.keys, lookup.KeyColumn{Column: column, Field: field})
	}
	return nil
}

// lookupBoundOptions say at what time and by which servers keys are read.
type lookupBoundOptions struct {
	bound        string
	short        [4]string // by boundNames
	directedRead string
}

// boundNames are the bounds with a value.
func boundNames() [4]string {
	return [4]string{"read-timestamp", "exact-staleness", "max-staleness", "min-read-timestamp"}
}

func (o *lookupBoundOptions) addFlags(fs *flagSet) {
	o.bound = "strong"
	g := group{fs, groupSnapshot}
	g.text(&o.bound, "timestamp-bound", "`bound` of the timestamp of each read: strong, read-timestamp=TIME, exact-staleness=DURATION, max-staleness=DURATION, min-read-timestamp=TIME")
	for i, name := range boundNames() {
		value := "time"
		if strings.HasSuffix(name, "staleness") {
			value = "duration"
		}
		g.text(&o.short[i], name, "short for --timestamp-bound "+name+"=`"+value+"`")
	}
	g.text(&o.directedRead, "directed-read", "`replicas` to read from, as LOCATION:READ_ONLY or LOCATION:READ_WRITE; either half may be left out")
}

// parse settles which bound is asked for.
func (o *lookupBoundOptions) parse(a *app) (*spannerpb.TransactionOptions_ReadOnly, error) {
	flag, text := "--timestamp-bound "+o.bound, o.bound
	var given []string
	if a.given("timestamp-bound") {
		given = append(given, "--timestamp-bound")
	}
	for i, name := range boundNames() {
		if a.given(name) {
			given = append(given, "--"+name)
			flag, text = "--"+name+" "+o.short[i], name+"="+o.short[i]
		}
	}
	if len(given) > 1 {
		return nil, usagef("%s exclude each other", strings.Join(given, " and "))
	}
	bound, err := parseBound(text)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	return bound, a.refuseAhead(bound)
}

// lookupReadOptions say how keys are read.
type lookupReadOptions struct {
	async, ordered                     bool
	parallelism, batchKeys, maxRetries int
}

func (o *lookupReadOptions) addFlags(fs *flagSet) {
	o.async, o.ordered, o.parallelism, o.batchKeys, o.maxRetries = true, true, 8, 100, 3
	g := group{fs, groupSnapshot}
	g.flag(&o.async, "async", "read several batches at once; --async=false --batch-keys 1 is one read after another")
	g.value(&intValue{target: &o.parallelism, min: 1, max: lookup.MaxParallelism}, "parallelism", "`number` of batches read at once")
	g.value(&intValue{target: &o.batchKeys, min: 1, max: lookup.MaxBatchKeys}, "batch-keys", fmt.Sprintf("most different `keys` of a batch, 1 to %d", lookup.MaxBatchKeys))
	g.value(&intValue{target: &o.maxRetries, min: 0, max: math.MaxInt32}, "max-retries", "`times` that a read which failed with ABORTED, DEADLINE_EXCEEDED or UNAVAILABLE is tried again")
	g.flag(&o.ordered, "ordered", "keep the order of the records; without it they go out as they are done")
}

// streams is how many reads there are at once.
func (o *lookupReadOptions) streams(a *app) (int, error) {
	if o.async {
		return o.parallelism, nil
	}
	if a.from["parallelism"] == originFlag && o.parallelism > 1 {
		return 0, usagef("--parallelism %d and --async=false exclude each other", o.parallelism)
	}
	return 1, nil
}

// cacheKind is the value of --cache.
type cacheKind string

const (
	cacheNone    cacheKind = "none"
	cachePartial cacheKind = "partial"
)

// defaultCacheRows is for a cache whose size nobody has thought about.
const defaultCacheRows = 100_000

// lookupCacheOptions say whether rows are kept.
type lookupCacheOptions struct {
	kind    cacheKind
	maxRows int
	access  time.Duration
	write   time.Duration
	missing bool
}

func (o *lookupCacheOptions) addFlags(fs *flagSet) {
	o.kind, o.maxRows, o.missing = cacheNone, defaultCacheRows, true
	g := group{fs, groupSnapshot}
	g.value(&choiceValue[cacheKind]{target: &o.kind, choices: []cacheKind{cacheNone, cachePartial}}, "cache", "`kind` of cache: none, partial (rows that were read answer later records; they can be as old as they have been kept)")
	g.value(&intValue{target: &o.maxRows, min: 1, max: math.MaxInt}, "cache-max-rows", "most `rows` in the cache; those used longest ago go first")
	g.value(&durationValue{target: &o.access, min: time.Nanosecond, max: math.MaxInt64}, "cache-expire-after-access", "`time` after its last use that a row is forgotten (default never)")
	g.value(&durationValue{target: &o.write, min: time.Nanosecond, max: math.MaxInt64}, "cache-expire-after-write", "`time` after it was read that a row is forgotten (default never)")
	g.flag(&o.missing, "cache-missing-key", "remember also the keys without a row")
}

// options returns those of the engine, nil without a cache.
func (o *lookupCacheOptions) options(a *app) (*lookup.CacheOptions, error) {
	if o.kind == cachePartial {
		return &lookup.CacheOptions{MaxRows: o.maxRows, ExpireAfterAccess: o.access, ExpireAfterWrite: o.write, Missing: o.missing}, nil
	}
	for _, name := range []string{"cache-max-rows", "cache-expire-after-access", "cache-expire-after-write", "cache-missing-key"} {
		if a.from[name] == originFlag {
			return nil, usagef("--%s needs --cache partial", name)
		}
	}
	return nil, nil
}

// lookupInputOptions say how records are read.
type lookupInputOptions struct {
	kind        format.Kind
	compression format.Compression
	maxRecord   int64
	csvFields   []string
	ragged      bool
	lazyQuotes  bool
	replace     bool
}

func (o *lookupInputOptions) addFlags(fs *flagSet) {
	o.maxRecord = format.DefaultMaxRecordBytes
	g := group{fs, groupFormat}
	g.value(kindWord{&choiceValue[format.Kind]{target: &o.kind, choices: []format.Kind{format.NDJSON, format.CSV, format.Avro}}}, "input-format", "`format` of the records: ndjson, csv, avro (default by the input's name or content)")
	g.value(&choiceValue[format.Compression]{target: &o.compression, choices: []format.Compression{format.None, format.Gzip, format.Zstd}}, "input-compression", "`compression` of the records: none, gzip, zstd (default by the input's name or content)")
	g.value(&sizeValue{target: &o.maxRecord, min: 1, max: math.MaxInt32}, "max-record-bytes", "`size` above which a record is refused")
	g.list(&o.csvFields, "csv-fields", "`names` of the fields of CSV without a header, parted by commas")
	g.flag(&o.ragged, "csv-ragged", "take CSV records with too few or too many fields")
	g.flag(&o.lazyQuotes, "csv-lazy-quotes", "take stray quotes in CSV as characters")
	g.flag(&o.replace, "csv-replace-invalid-utf8", "take bytes in CSV that are not UTF-8 as U+FFFD")
}

// csvInput is how CSV is read: as it is written, but for what is forgiven.
func (o *lookupInputOptions) csvInput(out format.CSVOptions) format.CSVInput {
	return format.CSVInput{
		NoHeader: out.NoHeader, Delimiter: out.Delimiter, Quote: out.Quote, Null: out.Null,
		Ragged: o.ragged, LazyQuotes: o.lazyQuotes, ReplaceInvalid: o.replace,
	}
}
