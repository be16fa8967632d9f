package infoschema

import (
	"slices"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// postgreSQLColumnColumns are the columns of information_schema.columns.
const postgreSQLColumnColumns = "table_catalog, table_schema, table_name, column_name, ordinal_position INT64, column_default, is_nullable, data_type, " +
	"character_maximum_length INT64, character_octet_length INT64, numeric_precision INT64, numeric_precision_radix INT64, numeric_scale INT64, " +
	"datetime_precision INT64, interval_type, interval_precision INT64, character_set_catalog, character_set_schema, character_set_name, " +
	"collation_catalog, collation_schema, collation_name, domain_catalog, domain_schema, domain_name, udt_catalog, udt_schema, udt_name, " +
	"scope_catalog, scope_schema, scope_name, maximum_cardinality INT64, dtd_identifier, is_self_referencing, is_identity, identity_generation, " +
	"identity_start, identity_increment, identity_maximum, identity_minimum, identity_cycle, identity_kind, identity_start_with_counter, " +
	"identity_skip_range_min, identity_skip_range_max, is_generated, generation_expression, is_updatable, spanner_type, is_stored, " +
	"spanner_state, is_hidden"

func postgreSQLColumnRows(f *filler) {
	for _, t := range slices.Concat(f.schema.Tables, f.viewTables(), f.system) {
		for _, c := range t.Columns {
			postgreSQLColumnRow(f, t, c)
		}
	}
}

func postgreSQLColumnRow(f *filler, t *catalog.Table, c *catalog.Column) {
	cells := map[string]any{
		"table_catalog": "", "table_schema": t.SchemaName(), "table_name": t.LocalName(),
		"column_name": c.Name, "ordinal_position": int64(c.Ordinal + 1), "is_nullable": yesNo(!c.NotNull),
		"data_type": postgreSQLDataType(c), "spanner_type": c.PostgreSQLType(),
		"is_self_referencing": "NO", "is_identity": yesNo(c.Identity != nil), "is_generated": "NEVER", "is_updatable": yesNo(!t.Virtual),
		"is_hidden": yesNo(c.Hidden),
	}
	if c.Default != nil {
		cells["column_default"] = c.PostgreSQLDefault()
	}
	if c.Generated != nil {
		cells["is_generated"], cells["generation_expression"], cells["is_stored"] = "ALWAYS", c.Generated.Text, yesNo(c.Stored)
		cells["is_updatable"] = "NO"
	}
	if !t.Virtual {
		cells["spanner_state"] = "COMMITTED"
	}
	if c.Type.Code == value.StringCode && c.MaxLen > 0 {
		cells["character_maximum_length"] = c.MaxLen
	}
	precision, radix, scale := postgreSQLPrecision(c.Type)
	cells["numeric_precision"], cells["numeric_precision_radix"], cells["numeric_scale"] = precision, radix, scale
	if id := c.Identity; id != nil {
		cells["identity_generation"] = "BY DEFAULT"
		cells["identity_start_with_counter"] = counter(id.StartWithCounter)
		cells["identity_skip_range_min"], cells["identity_skip_range_max"] = counter(id.SkipRangeMin), counter(id.SkipRangeMax)
		if id.Kind != "" {
			cells["identity_kind"] = "BIT_REVERSED_POSITIVE_SEQUENCE"
		}
	}
	row := make([]any, len(f.columns))
	for i, name := range f.columns {
		row[i] = cells[name]
	}
	f.emit(row...)
}

// postgreSQLDataType is the type without length, ARRAY for any array.
func postgreSQLDataType(c *catalog.Column) string {
	if c.Type.Code == value.ArrayCode {
		return "ARRAY"
	}
	if c.AllowCommitTimestamp {
		return c.PostgreSQLType()
	}
	return c.Type.PostgreSQL(0)
}

func postgreSQLPrecision(t *value.Type) (precision, radix, scale any) {
	switch t.Code {
	case value.Int64Code:
		return int64(64), int64(2), int64(0)
	case value.Float64Code:
		return int64(53), int64(2), nil
	case value.Float32Code:
		return int64(24), int64(2), nil
	case value.NumericCode:
		return nil, int64(10), nil
	}
	return nil, nil, nil
}
