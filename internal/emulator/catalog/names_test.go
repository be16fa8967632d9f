package catalog

import (
	"strings"
	"testing"
)

// Fold and EqualFold are one relation: names are found by the one and compared
// by the other.
func TestFoldAgreesWithEqualFold(t *testing.T) {
	names := []string{"Order", "ORDER", "Ünïcode", "üNÏCODE", "unicode", "ΟΔΟΣ", "οδος", "οδοσ", "Straße", "STRAẞE", "STRASSE", "\u212Aelvin", "kelvin", "KELVIN", "ſchema", "schema",
		"İ", "i", "ı", "I", "\u01C5x", "\u01C4X", "\u01C6x", "日本", ""}
	for _, a := range names {
		for _, b := range names {
			if got, want := Fold(a) == Fold(b), strings.EqualFold(a, b); got != want {
				t.Errorf("%q and %q: folded alike %v, equal %v", a, b, got, want)
			}
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("Ünïcode", "üNÏCODE")
	f.Add("ς", "Σ")
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, want := Fold(a) == Fold(b), strings.EqualFold(a, b); got != want {
			t.Errorf("%q and %q: folded alike %v, equal %v", a, b, got, want)
		}
		if again := Fold(Fold(a)); again != Fold(a) {
			t.Errorf("%q folds to %q and that to %q", a, Fold(a), again)
		}
	})
}
