package format

import (
	"fmt"
	"slices"
)

// Check reports names in o that none of the tables has columns for, and columns
// that are named twice. Of several tables each may have some of the names.
func (o *DecodeOptions) Check(tables ...*Target) error {
	// --columns can be all fields of CSV without a header.
	named := slices.DeleteFunc(slices.Clone(o.Columns), func(name string) bool { return name == o.TableField || name == o.OperationField })
	for _, list := range []struct {
		flag  string
		names []string
	}{{"--columns", named}, {"--commit-timestamp-columns", o.CommitTimestamps}, {"--rename", o.renamedTo()}} {
		if err := o.checkNames(tables, list.flag, list.names); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if err := o.CheckCommitTimestamps(t); err != nil {
			return err
		}
	}
	return nil
}

// CheckCommitTimestamps reports a column among CommitTimestamps that t has and
// that does not take one.
func (o *DecodeOptions) CheckCommitTimestamps(t *Target) error {
	for _, name := range o.CommitTimestamps {
		if i := t.meant(name); i >= 0 && !t.columns()[i].CommitTimestamp {
			return fmt.Errorf("column %s of table %s does not take the commit timestamp: its option allow_commit_timestamp is not set", t.columns()[i].Name, t.table.Name)
		}
	}
	return nil
}

func (o *DecodeOptions) renamedTo() []string {
	var names []string
	for _, to := range o.Rename {
		names = append(names, to)
	}
	slices.Sort(names)
	return names
}

func (o *DecodeOptions) checkNames(tables []*Target, flag string, names []string) error {
	known := make([]bool, len(names))
	for _, t := range tables {
		seen := map[int]string{}
		for i, name := range names {
			column := t.meant(name)
			if flag == "--columns" {
				column = o.listed(t, name)
			}
			if column < 0 {
				continue
			}
			if other, twice := seen[column]; twice {
				return fmt.Errorf("%s: %s and %s are one column of table %s", flag, other, name, t.table.Name)
			}
			seen[column], known[i] = name, true
		}
	}
	if i := slices.Index(known, false); i >= 0 {
		if len(tables) == 1 {
			return unknownColumn(tables[0], flag, names[i])
		}
		return fmt.Errorf("%s: none of the tables has a column %s", flag, names[i])
	}
	return nil
}
