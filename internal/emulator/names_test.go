package emulator_test

import (
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

// Every spelling of a name is the name, also in letters whose cases only Unicode
// knows: in DDL, mutations, reads, queries and change streams.
func TestNamesBeyondASCII(t *testing.T) {
	f := start(t, emulator.Options{},
		"CREATE SCHEMA `Ärger`",
		"CREATE TABLE `ärger`.`Größen` (`Ünï` INT64 NOT NULL, `ΣΟΦΟΣ` STRING(MAX), `Länge` INT64 AS (CHAR_LENGTH(`σοφος`)) STORED) PRIMARY KEY (`ünÏ`)",
		"CREATE TABLE `Ärger`.`Kinder` (`ÜNÏ` INT64 NOT NULL, K INT64 NOT NULL) PRIMARY KEY (`ünï`, K), INTERLEAVE IN PARENT `ÄRGER`.`GRÖẞEN`",
	)
	f.commit(t, insert("äRGER.GRÖßEN", "ÜnÏ,σοφος", row(1, "a"), row(2, "bc")), insert("Ärger.kinder", "ünï,k", row(1, 1)))
	if got := f.cells(t, "ärger.größen", "", "ünï,ΣΟΦΟς,länge", &spannerpb.KeySet{All: true}); got != "1,a,1|2,bc,2" {
		t.Errorf("read %s", got)
	}
	f.wantSQL(t, "SELECT g.`ünï`, `LÄNGE`, k.K FROM `ärger`.`GRÖßEN` AS g JOIN `Ärger`.Kinder k USING (`Ünï`)", "1,1,1")
	f.wantSQL(t, "SELECT * EXCEPT (`länge`) FROM `Ärger`.`Größen` ORDER BY `σοφοσ` DESC", "2,bc|1,a")
	f.wantSQL(t, "SELECT column_name FROM information_schema.columns WHERE table_name = 'Größen' ORDER BY ordinal_position", "Ünï|ΣΟΦΟΣ|Länge")
	f.tryDDL(t, codes.FailedPrecondition, "Duplicate name", "CREATE TABLE `ärger`.`KINDER` (K INT64) PRIMARY KEY (K)")
}

// PostgreSQL's names are exact, in quotes and, but for the case of ASCII's
// letters, without.
func TestPostgreSQLNamesBeyondASCII(t *testing.T) {
	f := startPostgreSQL(t, `CREATE SCHEMA "Ärger"`, `CREATE TABLE "Ärger"."Größen" ("Ünï" bigint PRIMARY KEY, "a b" varchar, GRÖßE bigint)`,
		`CREATE INDEX "nach Größe" ON "Ärger"."Größen" ("a b")`, `CREATE CHANGE STREAM "Ström" FOR "Ärger"."Größen"("a b")`)
	f.commit(t, insert("Ärger.Größen", "Ünï,a b,grÖße", row(1, "x", 2)))
	for sql, want := range map[string]string{
		`SELECT "Ünï", "a b", grÖßE FROM "Ärger"."Größen"`:                                                       "1,x,2",
		`SELECT index_name FROM information_schema.indexes WHERE table_name = 'Größen' AND index_type = 'INDEX'`: "nach Größe",
		`SELECT change_stream_name || column_name FROM information_schema.change_stream_columns`:                 "Ströma b",
	} {
		if got := f.rows(t, sql, nil); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
