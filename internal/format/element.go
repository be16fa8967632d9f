package format

import (
	"encoding/json"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// AppendElement appends the wire form of a value of type t that stands outside
// any record, as a key on a command line does: a string, a json.Number or a bool.
// It takes and refuses what a field of a record may be, for the same reasons.
func AppendElement(dst []byte, t *spannerpb.Type, element any) ([]byte, error) {
	d := newValueDecoder(t, false, false)
	switch e := element.(type) {
	case string:
		if d.text != nil {
			return d.text(dst, []byte(e))
		}
	case json.Number:
		if d.number {
			return d.text(dst, []byte(e))
		}
	case bool:
		if d.truth {
			return wire.AppendBool(dst, e), nil
		}
	}
	return dst, d.want()
}
