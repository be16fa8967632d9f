package cmd

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// targetOptions say which table records go to and what is done there.
type targetOptions struct {
	table, schema  string
	tableField     string
	operation      string
	operationField string
	changelog      bool
}

func (o *targetOptions) addFlags(fs *flagSet) {
	o.operation = wire.InsertOrUpdate.String()
	g := group{fs, groupInto}
	g.text(&o.table, "table", "`name` of the table, quoted where SQL would need it (default what the directory of an export says)")
	g.text(&o.schema, "schema", "named `schema` of the table")
	g.text(&o.tableField, "table-field", "`field` of the record that names its table")
	g.value(&operationValue{&o.operation}, "operation", "`what` to do: insert, update, insert-or-update, replace, delete; a delete takes keys, and a record {\"__range\": {\"startClosed\": [...], \"endOpen\": [...]}} deletes a range of them")
	g.text(&o.operationField, "operation-field", "`field` of the record that names its operation")
	g.flag(&o.changelog, "changelog", "take the rows of tail --changelog-mode: INSERT and UPDATE_AFTER upsert, UPDATE_BEFORE is passed over, DELETE deletes by key")
}

// operationValue takes any spelling of an operation.
type operationValue struct{ target *string }

func (v *operationValue) Type() string { return "word" }

func (v *operationValue) String() string {
	if v.target == nil {
		return ""
	}
	return *v.target
}

func (v *operationValue) Set(text string) error {
	op, ok := format.ParseOperation(strings.TrimSpace(text))
	if !ok {
		return usagef("not one of %s", strings.Join(v.wordList(), ", "))
	}
	*v.target = op.String()
	return nil
}

func (v *operationValue) wordList() []string {
	return []string{"insert", "update", "insert-or-update", "replace", "delete"}
}

// name is the table that was given.
func (o *targetOptions) name() (schema.Name, error) {
	switch {
	case o.table == "" && o.schema != "":
		return schema.Name{}, usagef("--schema needs --table")
	case o.table == "":
		return schema.Name{}, nil
	case o.tableField != "":
		return schema.Name{}, usagef("--table and --table-field exclude each other")
	}
	return tableName(o.table, o.schema)
}

// recordOptions say how fields become columns.
type recordOptions struct {
	columns          []string
	rename           []string
	unknownFields    string
	missingFields    string
	commitTimestamps []string
}

func (o *recordOptions) addFlags(fs *flagSet) {
	o.unknownFields, o.missingFields = "fail", "omit"
	g := group{fs, groupRecord}
	g.names(&o.columns, "columns", "`names` of the columns to write, quoted or not, parted by commas (default all); for CSV without a header those of its fields")
	g.names(&o.rename, "rename", "`field=column` where names differ; parted by commas or given again")
	g.value(&choiceValue[string]{target: &o.unknownFields, choices: []string{"fail", "ignore"}}, "unknown-fields", "what a field does that is no column: `fail` or ignore")
	g.value(&choiceValue[string]{target: &o.missingFields, choices: []string{"omit", "null"}}, "missing-fields", "what a column gets that the record does not have: `omit` leaves default or old value, null writes NULL")
	g.names(&o.commitTimestamps, "commit-timestamp-columns", "`names` of columns to fill with Spanner's commit timestamp")
}

func (o *recordOptions) renames() (map[string]string, error) {
	renames, targets := map[string]string{}, map[string]string{}
	for _, r := range o.rename {
		sides := splitNames(r, '=')
		if len(sides) != 2 {
			return nil, usagef("--rename %s: not of the form field=column", r)
		}
		if err := unquote("rename", sides); err != nil {
			return nil, err
		}
		from, to := sides[0], sides[1]
		if _, twice := renames[from]; twice {
			return nil, usagef("--rename names the field %s twice", from)
		}
		if other, twice := targets[to]; twice {
			return nil, usagef("--rename makes the column %s of two fields, %s and %s", to, other, from)
		}
		renames[from], targets[to] = to, from
	}
	return renames, nil
}

// inputFormatOptions say what the inputs look like.
type inputFormatOptions struct {
	kind           format.Kind
	compression    format.Compression
	json           string
	csvHeader      bool
	csv            format.CSVInput
	maxRecordBytes int64
	jq             string
}

func (o *inputFormatOptions) addFlags(fs *flagSet) {
	o.json, o.csvHeader = "value", true
	o.csv = format.CSVInput{Delimiter: ",", Quote: `"`}
	o.maxRecordBytes = format.DefaultMaxRecordBytes
	g := group{fs, groupFormat}
	g.value(kindWord{&choiceValue[format.Kind]{target: &o.kind, choices: []format.Kind{format.NDJSON, format.CSV, format.Avro}}}, "format", "`format` of the inputs: ndjson, csv, avro (default by name, else content)")
	g.value(&choiceValue[format.Compression]{target: &o.compression, choices: []format.Compression{format.None, format.Gzip, format.Zstd}}, "compression", "`compression`: none, gzip, zstd (default by name, else content)")
	g.value(&choiceValue[string]{target: &o.json, choices: []string{"value", "string"}}, "json", "how JSON records have a JSON column: the `value` itself or its text in a string")
	g.flag(&o.csvHeader, "csv-header", "CSV begins with a record of field names; if false, its fields are --columns or those of an export")
	g.text(&o.csv.Delimiter, "csv-delimiter", "`character` between CSV fields; \\t is a tab")
	g.text(&o.csv.Quote, "csv-quote", "`character` around CSV fields")
	g.text(&o.csv.Null, "csv-null", "`text` that stands for NULL in CSV, unquoted (default an empty field without quotes)")
	g.flag(&o.csv.Ragged, "csv-ragged", "take CSV records with too few fields or too many")
	g.flag(&o.csv.LazyQuotes, "csv-lazy-quotes", "take quotes in the wrong place of a CSV field as characters")
	g.flag(&o.csv.ReplaceInvalid, "csv-replace-invalid-utf8", "take bytes that are not UTF-8 in CSV as U+FFFD")
	g.value(&sizeValue{target: &o.maxRecordBytes, min: 1, max: math.MaxInt32}, "max-record-bytes", "`size` above which a record is refused")
	g.text(&o.jq, "jq", "jq `program` run on each record: none out skips it, several out are several records, of at most 16 MiB")
}

func (o *inputFormatOptions) program() (*transform.Program, error) {
	if o.jq == "" {
		return nil, nil
	}
	program, err := transform.Compile(o.jq)
	if err != nil {
		return nil, usagef("--jq: %w", err)
	}
	return program, nil
}

// decodeOptions gathers what decoders need, but for the tables.
func (o *importOptions) decodeOptions(a *app) (format.DecodeOptions, error) {
	op, _ := format.ParseOperation(o.target.operation) // checked by its flag
	d := format.DecodeOptions{
		TableField: o.target.tableField, Operation: op, OperationField: o.target.operationField,
		Columns: slices.Clone(o.record.columns), IgnoreUnknown: o.record.unknownFields == "ignore", MissingNull: o.record.missingFields == "null",
		CommitTimestamps: slices.Clone(o.record.commitTimestamps), MaxRecordBytes: int(o.format.maxRecordBytes), CSV: o.format.csv,
		Changelog: o.target.changelog,
	}
	d.CSV.NoHeader = !o.format.csvHeader
	if o.target.changelog {
		if a.given("operation") {
			return d, usagef("--changelog and --operation exclude each other: the records name their operations")
		}
		if d.OperationField == "" {
			d.OperationField = "__op"
		}
	}
	var err error
	if d.Rename, err = o.record.renames(); err != nil {
		return d, err
	}
	for _, list := range []struct {
		flag  string
		names []string
	}{{"columns", d.Columns}, {"commit-timestamp-columns", d.CommitTimestamps}} {
		if err := unquote(list.flag, list.names); err != nil {
			return d, err
		}
		if name, twice := repeated(list.names); twice {
			return d, usagef("--%s names %s twice", list.flag, name)
		}
	}
	if err := d.CSV.Validate(); err != nil {
		return d, &usageError{err: err}
	}
	return d, nil
}

// unquote takes off the quotes of names, which are of columns, or of fields: the
// name of a field may have anything in it.
func unquote(flag string, names []string) error {
	for i, name := range names {
		var err error
		switch {
		case name == "":
			err = errors.New("a name is empty")
		case name[0] == '"' || name[0] == '`':
			names[i], err = schema.ParseIdent(name)
		}
		if err != nil {
			return usagef("--%s: %w", flag, err)
		}
	}
	return nil
}

// repeated finds a name that is in the list again.
func repeated(names []string) (string, bool) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name, true
		}
	}
	return "", false
}

// batchOptions say how records are sent.
type batchOptions struct {
	cells, mutations int
	bytes            int64
	timeout          time.Duration
	method           string
	commitDelay      time.Duration
	initialBackoff   time.Duration
	maxBackoff       time.Duration
	maxAttempts      int
	keyOrder         string
	parallelism      int
	rateLimit        int
}

func (o *batchOptions) addFlags(fs *flagSet) {
	*o = batchOptions{
		cells: writer.DefaultMaxBatchCells, mutations: writer.DefaultMaxBatchMutations, bytes: writer.DefaultMaxBatchBytes,
		timeout: writer.DefaultBatchWriteTimeout, method: "batch-write", keyOrder: "preserve", parallelism: writer.DefaultParallelism,
		initialBackoff: writer.DefaultInitialBackoff, maxBackoff: writer.DefaultMaxBackoff, maxAttempts: writer.DefaultMaxAttempts,
	}
	g := group{fs, groupWrite}
	g.value(&intValue{target: &o.cells, min: 1, max: writer.MaxBatchCellsCeiling}, "max-batch-cells", "`cells` in a batch: a column written costs one, and one more for each index that holds it")
	g.value(&intValue{target: &o.mutations, min: 1, max: writer.MaxBatchCellsCeiling}, "max-batch-mutations", "`records` in a batch")
	g.value(&sizeValue{target: &o.bytes, min: 1, max: writer.MaxRequestBytes}, "max-batch-bytes", "`bytes` of a batch's request")
	g.value(&durationValue{target: &o.timeout, min: time.Millisecond, max: math.MaxInt64}, "batch-write-timeout", "`time` for one whole attempt, a stalled answer included")
	g.value(&choiceValue[string]{target: &o.method, choices: []string{"batch-write", "commit"}}, "write-method", "`call` that writes: batch-write applies each record by itself, commit a batch as a whole")
	g.value(&durationValue{target: &o.commitDelay, max: writer.MaxCommitDelayCeiling}, "max-commit-delay", "`time` that Spanner may delay a commit to group it with others, 0 to 500ms; implies --write-method commit")
	g.value(&durationValue{target: &o.initialBackoff, min: time.Millisecond, max: math.MaxInt64}, "recovery-initial-backoff", "first `pause` before a batch is sent again")
	g.value(&durationValue{target: &o.maxBackoff, min: time.Millisecond, max: math.MaxInt64}, "recovery-max-backoff", "longest `pause` before a batch is sent again")
	g.value(&intValue{target: &o.maxAttempts, min: 1, max: math.MaxInt32}, "recovery-max-attempts", "`times` a record is tried before the import fails")
	g.value(&choiceValue[string]{target: &o.keyOrder, choices: []string{"preserve", "none"}}, "key-order", "`preserve` lets the last record of a key win; none is faster and leaves their order open")
	g.value(&intValue{target: &o.parallelism, min: 1, max: writer.MaxParallelism}, "parallelism", "`number` of batches in flight at once")
	g.value(&intValue{target: &o.rateLimit, min: 1, max: math.MaxInt32}, "rate-limit", "`rows` written a second at most")
}

// writeRequestOptions go with every request that writes.
type writeRequestOptions struct {
	priority       priority
	requestTag     string
	transactionTag string
	exclude        bool
}

func (o *writeRequestOptions) addFlags(fs *flagSet) {
	g := group{fs, groupWrite}
	g.value(&choiceValue[priority]{target: &o.priority, choices: []priority{"LOW", "MEDIUM", "HIGH"}, upper: true}, "rpc-priority", "`priority` of the requests: LOW, MEDIUM, HIGH (default unset, which the service takes for HIGH)")
	g.value(&tagValue{&o.requestTag}, "request-tag", "`tag` sent with the requests; Spanner has it in the statistics of reads and queries and ignores it in a commit, whose tag is --transaction-tag")
	g.value(&tagValue{&o.transactionTag}, "transaction-tag", "`tag` that Spanner's statistics show the writes under")
	g.flag(&o.exclude, "exclude-from-change-streams", "keep the writes out of change streams that allow it")
}

func (o *writeRequestOptions) rpcPriority() spannerpb.RequestOptions_Priority {
	return (&requestOptions{priority: o.priority}).rpcPriority()
}

// failureOptions say what becomes of refused records.
type failureOptions struct {
	onFailure  string
	deadLetter string
	retry      string
	constraint string
	maxRefused string
}

func (o *failureOptions) addFlags(fs *flagSet) {
	o.onFailure, o.constraint = "fail", "fail-job"
	g := group{fs, groupFailure}
	g.value(&choiceValue[string]{target: &o.onFailure, choices: []string{"fail", "drop", "dead-letter"}}, "on-failure", "what a refused record does: `fail` the import, drop it with a log line, dead-letter it")
	g.text(&o.deadLetter, "dead-letter", "`file` for refused records, one JSON object a line; implies --on-failure dead-letter")
	g.text(&o.retry, "retry-dead-letter", "dead letter `file` whose records are taken again, under the flags that they were read under unless given anew")
	g.value(&choiceValue[string]{target: &o.constraint, choices: []string{"fail-job", "route-to-failure-handler"}}, "constraint-violation-policy", "what a violated constraint does: `fail-job`, or route-to-failure-handler, which is --on-failure")
	g.text(&o.maxRefused, "max-refused", "`number`, or share such as 1%, of refused records above which the import fails")
}

// resolve settles which of the three ways is taken.
func (o *failureOptions) resolve(a *app) error {
	switch {
	case o.deadLetter != "" && !a.given("on-failure"):
		o.onFailure = "dead-letter"
	case o.deadLetter != "" && o.onFailure != "dead-letter":
		return usagef("--dead-letter and --on-failure %s exclude each other", o.onFailure)
	case o.deadLetter == "" && o.onFailure == "dead-letter":
		return usagef("--on-failure dead-letter needs --dead-letter FILE")
	}
	if o.maxRefused != "" && o.onFailure == "fail" {
		return usagef("--max-refused needs --on-failure drop or dead-letter: with fail the first refused record ends the import")
	}
	if o.deadLetter == "-" {
		return usagef("--dead-letter - is no file: name one, which --retry-dead-letter can take")
	}
	if o.deadLetter != "" && o.deadLetter == o.retry {
		return usagef("--dead-letter and --retry-dead-letter name the same file")
	}
	return nil
}

// writerOptions gathers what the writer needs, but for the Refuser.
func (o *importOptions) writerOptions(a *app, progress *writer.Progress) (writer.Options, error) {
	b := &o.batch
	w := writer.Options{
		MaxBatchCells: b.cells, MaxBatchMutations: b.mutations, MaxBatchBytes: int(b.bytes),
		Parallelism: b.parallelism, BatchWriteTimeout: b.timeout,
		InitialBackoff: b.initialBackoff, MaxBackoff: b.maxBackoff, MaxAttempts: b.maxAttempts,
		RateLimit: float64(b.rateLimit), ExcludeFromChangeStreams: o.request.exclude,
		Priority: o.request.rpcPriority(), TransactionTag: o.request.transactionTag, RequestTag: o.request.requestTag,
		DryRun: o.dryRun, Progress: progress,
		OnRetry: func(r writer.Retry) {
			a.retries.log(a, r.Attempt, "sending again", "records", r.Records, "of", r.Sent, "first", r.First.String(),
				"attempt", r.Attempt, "pause", r.Pause, "error", a.errorText(r.Err))
		},
		OnFurther: func(r *writer.Refusal) { a.log.Error("record refused", r.LogAttrs(a.showValues())...) },
	}
	if b.keyOrder == "none" {
		w.KeyOrder = writer.NoKeyOrder
	}
	if o.failure.constraint == "route-to-failure-handler" {
		w.Constraint = writer.RouteToFailureHandler
	}
	if err := o.failure.resolve(a); err != nil {
		return w, err
	}
	var err error
	if w.MaxRefused, err = writer.ParseRefusalLimit(o.failure.maxRefused); err != nil {
		return w, usagef("--max-refused: %w", err)
	}
	if err := b.resolveMethod(a, &w); err != nil {
		return w, err
	}
	if a.given("recovery-initial-backoff") && !a.given("recovery-max-backoff") {
		w.MaxBackoff = max(w.MaxBackoff, w.InitialBackoff)
	}
	if err := w.Validate(); err != nil {
		return w, &usageError{err: err}
	}
	return w, nil
}

// resolveMethod settles the call that writes: BatchWriteRequest has no field for
// a commit delay.
func (o *batchOptions) resolveMethod(a *app, w *writer.Options) error {
	if o.method == "commit" {
		w.Method = writer.Commit
	}
	if !a.given("max-commit-delay") {
		return nil
	}
	if a.given("write-method") && o.method == "batch-write" {
		return usagef("--max-commit-delay needs --write-method commit: BatchWriteRequest has no such field")
	}
	w.Method, w.MaxCommitDelay = writer.Commit, &o.commitDelay
	return nil
}

// tellChoices says what the flags imply and nobody might expect.
func (o *importOptions) tellChoices(a *app) {
	if a.given("max-commit-delay") && !a.given("write-method") {
		a.log.Info("--max-commit-delay implies --write-method commit: BatchWriteRequest has no such field")
	}
	if o.batch.mutations > o.batch.cells {
		a.log.Warn("--max-batch-mutations cannot bind: a mutation costs at least one cell",
			"max-batch-mutations", o.batch.mutations, "max-batch-cells", o.batch.cells)
	}
}
