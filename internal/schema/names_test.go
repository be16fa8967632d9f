package schema_test

import (
	"testing"

	"spanbulk/internal/schema"
)

func TestParseName(t *testing.T) {
	tests := []struct {
		in   string
		want schema.Name
		fail string
	}{
		{in: "Singers", want: schema.Name{Name: "Singers"}},
		{in: "sales.Orders", want: schema.Name{Schema: "sales", Name: "Orders"}},
		{in: "`order`", want: schema.Name{Name: "order"}},
		{in: "`a.b`", want: schema.Name{Name: "a.b"}},
		{in: "sales.`order`", want: schema.Name{Schema: "sales", Name: "order"}},
		{in: `"My Schema"."Say ""hi"""`, want: schema.Name{Schema: "My Schema", Name: `Say "hi"`}},
		{in: "`back\\`quote`", want: schema.Name{Name: "back`quote"}},
		{in: "", fail: `name "" lacks a part`},
		{in: "a.", fail: `name "a." lacks a part`},
		{in: ".b", fail: `name ".b" lacks a part`},
		{in: "a.b.c", fail: `name "a.b.c" has more than two parts`},
		{in: "`a", fail: "name \"`a\" has no closing quote"},
		{in: "`a`b", fail: "name \"`a`b\" goes on after its closing quote"},
		{in: "a`b", fail: "name \"a`b\" has a quote inside a bare part"},
		{in: "``", fail: "name \"``\" lacks a part"},
	}
	for _, tt := range tests {
		got, err := schema.ParseName(tt.in)
		switch {
		case tt.fail != "" && (err == nil || err.Error() != tt.fail):
			t.Errorf("ParseName(%q) error = %v, want %q", tt.in, err, tt.fail)
		case tt.fail == "" && (err != nil || got != tt.want):
			t.Errorf("ParseName(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
	if _, err := schema.ParseIdent("a.b"); err == nil {
		t.Error("ParseIdent took two parts")
	}
}

func TestFindName(t *testing.T) {
	known := []schema.Name{{Name: "orders"}, {Schema: "select", Name: "Order"}, {Schema: "Shop", Name: "items"}, {Name: "Orders"}, {Schema: "Ärger", Name: "grÖße"}}
	tests := []struct {
		dialect schema.Dialect
		name    schema.Name
		want    int
	}{
		{schema.GoogleSQL, schema.Name{Name: "ORDERS"}, 0},
		{schema.GoogleSQL, schema.Name{Schema: "SELECT", Name: "ORDER"}, 1},
		{schema.GoogleSQL, schema.Name{Schema: "public", Name: "orders"}, -1},
		{schema.GoogleSQL, schema.Name{Name: "Order"}, -1},
		{schema.GoogleSQL, schema.Name{Schema: "äRGER", Name: "GRÖẞE"}, 4},
		{schema.PostgreSQL, schema.Name{Schema: "Ärger", Name: "GRÖßE"}, 4}, // as SQL would fold it
		{schema.PostgreSQL, schema.Name{Schema: "Ärger", Name: "größe"}, -1},
		{schema.PostgreSQL, schema.Name{Name: "orders"}, 0},
		{schema.PostgreSQL, schema.Name{Name: "Orders"}, 3},
		{schema.PostgreSQL, schema.Name{Name: "ORDERS"}, 0},
		{schema.PostgreSQL, schema.Name{Schema: "Public", Name: "Orders"}, 3},
		{schema.PostgreSQL, schema.Name{Schema: "SELECT", Name: "Order"}, 1},
		{schema.PostgreSQL, schema.Name{Schema: "select", Name: "order"}, -1},
		{schema.PostgreSQL, schema.Name{Schema: "Shop", Name: "ITEMS"}, 2},
		{schema.PostgreSQL, schema.Name{Schema: "shop", Name: "items"}, -1},
	}
	for _, tt := range tests {
		if got := tt.dialect.FindName(known, tt.name); got != tt.want {
			t.Errorf("%v: %v is number %d, want %d", tt.dialect, tt.name, got, tt.want)
		}
	}
}

func TestQuote(t *testing.T) {
	tests := []struct {
		dialect    schema.Dialect
		name, want string
	}{
		{schema.GoogleSQL, "Singers", "Singers"},
		{schema.GoogleSQL, "order", "`order`"},
		{schema.GoogleSQL, "Select", "`Select`"},
		{schema.GoogleSQL, "a b`c", "`a b\\`c`"},
		{schema.GoogleSQL, "", "``"},
		{schema.PostgreSQL, "orders", `"orders"`},
		{schema.PostgreSQL, `a"b`, `"a""b"`},
	}
	for _, tt := range tests {
		if got := tt.dialect.Quote(tt.name); got != tt.want {
			t.Errorf("%v.Quote(%q) = %s, want %s", tt.dialect, tt.name, got, tt.want)
		}
	}
	n := schema.Name{Schema: "sales", Name: "order"}
	if n.SQL(schema.GoogleSQL) != "sales.`order`" || n.SQL(schema.PostgreSQL) != `"sales"."order"` || n.String() != "sales.order" {
		t.Errorf("got %s, %s, %s", n.SQL(schema.GoogleSQL), n.SQL(schema.PostgreSQL), n)
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"a", "a.b", "`a`.\"b\"", "`a\\`", `"""`, "a..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := schema.ParseName(s)
		if err != nil {
			return
		}
		if n.Name == "" {
			t.Fatalf("ParseName(%q) gave no name", s)
		}
		// What PostgreSQL's quoting writes is read back to the same name.
		if back, err := schema.ParseName(n.SQL(schema.PostgreSQL)); err != nil || back != n {
			t.Fatalf("%q -> %+v -> %s -> %+v, %v", s, n, n.SQL(schema.PostgreSQL), back, err)
		}
	})
}
