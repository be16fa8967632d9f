package cmd

import (
	"maps"
	"slices"

	"github.com/spf13/pflag"
)

// readingFlags are the flags that say how a record is to be understood. A dead
// letter carries those that were given, so that it means the same when it is
// taken again.
func readingFlags() []string {
	return []string{
		"table-field", "operation-field", "changelog",
		"columns", "rename", "unknown-fields", "missing-fields", "commit-timestamp-columns",
		"json", "csv-header", "csv-delimiter", "csv-quote", "csv-null", "csv-ragged", "csv-lazy-quotes", "csv-replace-invalid-utf8",
		"max-record-bytes", "jq",
	}
}

// readFlags are the reading flags that records are read under: those of a dead
// letter, nil for none, and over them those given now.
func (x *importer) readFlags(letter map[string]any) map[string]any {
	flags := maps.Clone(letter)
	for _, name := range readingFlags() {
		if !x.app.given(name) {
			continue
		}
		if flags == nil {
			flags = map[string]any{}
		}
		flags[name] = flagValue(x.plan.flags.Lookup(name))
	}
	return flags
}

// flagValue is the value of a flag in a form that setFlag takes and that JSON
// brings back as it is.
func flagValue(f *pflag.Flag) any {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.String()
	}
	var words []any
	for _, word := range list.GetSlice() {
		words = append(words, word)
	}
	return words
}

// optionsUnder are the options that reading flags come to, all others being
// what they are without flags.
func optionsUnder(flags map[string]any) (*importOptions, error) {
	o, fs := &importOptions{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	o.target.addFlags(fs)
	o.record.addFlags(fs)
	o.format.addFlags(fs)
	known := readingFlags()
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(known, name) {
			return nil, usagef("it was read under a flag that this version does not know: --%s", name)
		}
		if err := setFlag(fs.Lookup(name), flags[name], "the dead letter"); err != nil {
			return nil, err
		}
	}
	return o, nil
}
