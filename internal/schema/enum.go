package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/database"
)

// tellEnums finds out which columns that ParseType takes for messages are enums:
// INFORMATION_SCHEMA has the bare name for both, the metadata of a query the type.
func (c *Catalog) tellEnums(ctx context.Context, t *Table) error {
	var at []int
	var names []string
	for i, col := range t.Columns {
		if mayBeEnum(col) {
			at, names = append(at, i), append(names, c.dialect.Quote(col.Name))
		}
	}
	if len(at) == 0 {
		return nil
	}
	sql := "SELECT " + strings.Join(names, ", ") + " FROM " + t.Name.SQL(c.dialect) + " LIMIT 0"
	result, err := c.querier.Query(ctx, database.Statement{SQL: sql, At: c.at})
	if status.Code(err) == codes.PermissionDenied {
		return nil // a role that may only write; what is wrong with its enums is said
	}
	if err != nil {
		return fmt.Errorf("tell messages from enums among its columns: %w", err)
	}
	if len(result.Types) != len(at) {
		return fmt.Errorf("%d columns came where %d were selected", len(result.Types), len(at))
	}
	// Its slice is new: nobody has seen the table yet.
	for i, column := range at {
		t.Columns[column].Type = result.Types[i]
	}
	return nil
}

// mayBeEnum reports whether the column's type is a bare name of a proto bundle,
// or an array of such.
func mayBeEnum(c Column) bool {
	t := c.Type
	if t.GetCode() == spannerpb.TypeCode_ARRAY {
		t = t.GetArrayElementType()
	}
	told := slices.ContainsFunc([]string{"PROTO<", "ARRAY<PROTO<"}, func(p string) bool {
		return strings.HasPrefix(strings.ToUpper(strings.ReplaceAll(c.SpannerType, " ", "")), p)
	})
	return t.GetCode() == spannerpb.TypeCode_PROTO && !told
}
