package cmd

import (
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

func FuzzParseSnapshot(f *testing.F) {
	for _, s := range []string{"strong", "read-timestamp=2026-01-31T00:00:00Z", "exact-staleness=1h", "max-staleness=1s", "strong=1", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bound, err := parseSnapshot(text)
		if err != nil {
			return
		}
		switch bound.GetTimestampBound().(type) {
		case *spannerpb.TransactionOptions_ReadOnly_Strong, *spannerpb.TransactionOptions_ReadOnly_ExactStaleness, *spannerpb.TransactionOptions_ReadOnly_ReadTimestamp:
		default:
			t.Errorf("%q gave %v, which only single-use reads may have", text, bound)
		}
		if d := bound.GetExactStaleness(); d != nil && d.AsDuration() < 0 {
			t.Errorf("%q gave the staleness %v", text, d.AsDuration())
		}
	})
}

func FuzzParseParam(f *testing.F) {
	for _, s := range []string{"p:INT64=1", "@p:STRING=a=b:c", "p:ARRAY<STRING>=[]", "p=1", ":=", "p:=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseParam(text)
		if err == nil && (p.name == "" || p.kind == "") {
			t.Errorf("%q gave %+v", text, p)
		}
	})
}
