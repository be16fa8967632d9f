package schema_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spanbulk/internal/schema"
)

// TestDefinition spells what makes a table again, in both dialects.
func TestDefinition(t *testing.T) {
	views := func(dialect, own string) map[string][]string {
		return map[string][]string{
			"DATABASE_OPTIONS":      {dialect},
			"COLUMN_OPTIONS " + own: nil,
			"TABLE_CONSTRAINTS " + own: {
				"PK_Lines|PRIMARY KEY|YES", "CK_IS_NOT_NULL_Lines_Id|CHECK|YES", "Positive|CHECK|YES", "Item|FOREIGN KEY|NO", "Order|FOREIGN KEY|YES",
			},
		}
	}
	google := views("GOOGLE_STANDARD_SQL", "sales.Lines")
	for view, rows := range map[string][]string{
		"TABLES":                           {"sales|Lines|BASE TABLE|Orders|~"},
		"TABLES sales.Lines":               {"IN"},
		"COLUMNS sales.Lines":              nil,
		"INDEX_COLUMNS sales.Lines":        {"ByPart|Part|1|DESC", "ByPart|Id|2|ASC", "ByPart|Note|~|~", "PRIMARY_KEY|Id|1|ASC", "IDX_fk|Part|1|ASC", "Words|Tokens|1|ASC"},
		"CHECK_CONSTRAINTS sales.":         {"Other|x", "Positive|Part > 0", "CK_IS_NOT_NULL_Lines_Id|Id IS NOT NULL"},
		"REFERENTIAL_CONSTRAINTS sales.":   {"Order|sales|PK_Orders|CASCADE", "Item||IDX_Items|NO ACTION", "Other||x|NO ACTION"},
		"KEY_COLUMN_USAGE sales.Order":     {"sales|Lines|OrderId|1|1"},
		"KEY_COLUMN_USAGE sales.PK_Orders": {"sales|Orders|Id|1|~"},
		"KEY_COLUMN_USAGE sales.Item":      {"sales|Lines|Part|2|1", "sales|Lines|Kind|1|2"},
		"KEY_COLUMN_USAGE .IDX_Items":      {"|Items|Number|1|~", "|Items|Kind|2|~"},
	} {
		google[view] = rows
	}
	source := &informationSchema{t: t, views: google}
	source.answers = map[string][]string{
		"SELECT INDEX_NAME, PARENT_TABLE_NAME FROM INFORMATION_SCHEMA.INDEXES": {"ByPart|Orders", "IDX_fk|", "Words|"},
		"SELECT INDEX_NAME, INDEX_TYPE, IS_UNIQUE":                             {"ByPart|INDEX|true|true|READ_WRITE|false", "IDX_fk|INDEX|true|true|READ_WRITE|true", "Words|SEARCH|false|false|READ_WRITE|false"},
		"SELECT COLUMN_NAME, IS_IDENTITY":                                      {"Id|YES|BIT_REVERSED_POSITIVE_SEQUENCE|5|~|~", "Part|NO|~|~|~|~"},
		"SELECT COLUMN_NAME, ORDINAL_POSITION":                                 {"Id|1|INT64|NO|NEVER|false|~|YES|~|~", "Part|2|INT64|YES|NEVER|false|~|NO|~|~"},
	}
	catalog, err := schema.Open(t.Context(), source, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := catalog.Table(t.Context(), schema.Name{Schema: "sales", Name: "Lines"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := catalog.Definition(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Concat(table.IndexDDL(d), table.ForeignKeyDDL(d), table.CheckDDL(d))
	want := []string{
		"CREATE UNIQUE NULL_FILTERED INDEX `sales`.`ByPart` ON `sales`.`Lines`(`Part` DESC, `Id` ASC) STORING (`Note`), INTERLEAVE IN `sales`.`Orders`",
		"ALTER TABLE `sales`.`Lines` ADD CONSTRAINT `Item` FOREIGN KEY (`Kind`, `Part`) REFERENCES `Items` (`Kind`, `Number`) NOT ENFORCED",
		"ALTER TABLE `sales`.`Lines` ADD CONSTRAINT `Order` FOREIGN KEY (`OrderId`) REFERENCES `sales`.`Orders` (`Id`) ON DELETE CASCADE",
		"CONSTRAINT `Positive` CHECK (Part > 0)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	postgres := *table
	postgres.Dialect = schema.PostgreSQL
	postgres.Indexes = slices.Clone(table.Indexes)
	postgres.Indexes[0].Key = []schema.KeyPart{{Column: "a", NullHighest: true}, {Column: "b"}, {Column: "c", Descending: true, NullHighest: true}, {Column: "d", Descending: true}}
	// Its grammar has no schema in the name of a new index.
	if got := postgres.IndexDDL(d)[0]; !strings.HasPrefix(got, `CREATE UNIQUE NULL_FILTERED INDEX "ByPart" ON "sales"."Lines"("a" ASC, "b" ASC NULLS FIRST, "c" DESC, "d" DESC NULLS LAST)`) {
		t.Error(got)
	}
	if want := (schema.Identity{Kind: "BIT_REVERSED_POSITIVE_SEQUENCE", Start: "5"}); !d.InterleaveIn || d.Identities["Id"] != want || len(d.Identities) != 1 {
		t.Errorf("interleaved in: %t, identities %v", d.InterleaveIn, d.Identities)
	}
}
