package cmd

import (
	"testing"

	"spanbulk/internal/fault"
	"spanbulk/internal/schema"
)

func TestSelectSQL(t *testing.T) {
	google := &schema.Table{Name: schema.Name{Schema: "sales", Name: "Order"}}
	postgres := &schema.Table{Name: schema.Name{Name: `odd"name`}, Dialect: schema.PostgreSQL}
	index := &schema.Index{Name: "By"}
	for _, tt := range []struct {
		table *schema.Table
		index *schema.Index
		where string
		want  string
	}{
		{google, nil, "", "SELECT Id, `select`, `a b` FROM sales.`Order`"},
		{google, nil, "Id > 1", "SELECT Id, `select`, `a b` FROM sales.`Order` WHERE Id > 1"},
		{google, index, "", "SELECT Id, `select`, `a b` FROM sales.`Order`@{FORCE_INDEX=sales.`By`}"},
		{postgres, nil, `"Id" > 1`, `SELECT "Id", "select", "a b" FROM "odd""name" WHERE "Id" > 1`},
		{postgres, index, "", `SELECT "Id", "select", "a b" FROM "odd""name" /*@ FORCE_INDEX = "By" */`},
	} {
		if got := selectSQL(tt.table, tt.index, []string{"Id", "select", "a b"}, tt.where); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestUnreadableIndexes refuses what Spanner would, before anything is read.
func TestUnreadableIndexes(t *testing.T) {
	table := &schema.Table{Name: schema.Name{Name: "Albums"}, Indexes: []schema.Index{
		{Name: "Filling", Type: schema.PlainIndex, State: "WRITE_ONLY"},
		{Name: "Words", Type: "SEARCH", State: schema.IndexReadWrite},
	}}
	for index, want := range map[string][2]string{
		"filling": {"read index Filling of table Albums: it is not READ_WRITE but WRITE_ONLY", "wait until it is filled, or read the table without --index"},
		"Words":   {"read index Words of table Albums: it is a SEARCH index, which only queries can use", ""},
		"Wrods":   {"find index Wrods of table Albums: the table has no such index", "did you mean Words?"},
	} {
		o := &sourceOptions{index: index}
		if _, _, err := o.findIndex(table, nil); err == nil || err.Error() != want[0] || fault.Hint(err) != want[1] {
			t.Errorf("--index %s: %v; %s", index, err, fault.Hint(err))
		}
	}
}
