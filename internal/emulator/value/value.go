package value

import (
	"math"
	"math/big"
	"time"
)

// Value is one immutable typed value, possibly NULL. The zero Value is an
// untyped NULL.
type Value struct {
	typ   *Type
	valid bool
	// n holds a BOOL, INT64 or ENUM, the bits of a FLOAT64 or FLOAT32 (as
	// float64), the days of a DATE and the seconds of a TIMESTAMP since the
	// epoch, and the upper half of a NUMERIC.
	n int64
	// lo holds the nanoseconds of a TIMESTAMP and the lower half of a NUMERIC.
	lo uint64
	// s holds a STRING, the raw bytes of BYTES and PROTO, and the canonical
	// text of JSON, UUID and INTERVAL.
	s string
	// list holds the elements of an ARRAY and the fields of a STRUCT.
	list []Value
}

// Null is the NULL of a type; t may be nil for a NULL whose type is not known.
func Null(t *Type) Value { return Value{typ: t} }

// Bool is a BOOL.
func Bool(b bool) Value {
	v := Value{typ: BoolType, valid: true}
	if b {
		v.n = 1
	}
	return v
}

// Int64 is an INT64.
func Int64(n int64) Value { return Value{typ: Int64Type, valid: true, n: n} }

// Enum is an ENUM of type t.
func Enum(t *Type, n int64) Value { return Value{typ: t, valid: true, n: n} }

// Float64 is a FLOAT64.
func Float64(f float64) Value {
	return Value{typ: Float64Type, valid: true, n: int64(math.Float64bits(f))}
}

// Float32 is a FLOAT32.
func Float32(f float32) Value {
	return Value{typ: Float32Type, valid: true, n: int64(math.Float64bits(float64(f)))}
}

// String is a STRING. The text must be valid UTF-8.
func String(s string) Value { return Value{typ: StringType, valid: true, s: s} }

// Bytes is a BYTES value holding the bytes of s.
func Bytes(s string) Value { return Value{typ: BytesType, valid: true, s: s} }

// Timestamp is a TIMESTAMP, to the nanosecond.
func Timestamp(t time.Time) Value {
	return Value{typ: TimestampType, valid: true, n: t.Unix(), lo: uint64(t.Nanosecond())}
}

// Date is a DATE as days since 1970-01-01.
func Date(days int64) Value { return Value{typ: DateType, valid: true, n: days} }

// JSON is a JSON value from its canonical text; see ParseJSON for other text.
func JSON(canonical string) Value { return Value{typ: JSONType, valid: true, s: canonical} }

// UUID is a UUID from its lower-case text.
func UUID(canonical string) Value { return Value{typ: UUIDType, valid: true, s: canonical} }

// TokenList is a TOKENLIST, which nobody outside can look into.
func TokenList(opaque string) Value { return Value{typ: TokenListType, valid: true, s: opaque} }

// Interval is an INTERVAL from its canonical ISO 8601 text.
func Interval(canonical string) Value { return Value{typ: IntervalType, valid: true, s: canonical} }

// Array is an ARRAY<elem>. It keeps the slice.
func Array(elem *Type, list []Value) Value {
	return Value{typ: ArrayOf(elem), valid: true, list: list}
}

// Struct is a STRUCT of type t with its fields in order. It keeps the slice.
func Struct(t *Type, fields []Value) Value {
	return Value{typ: t, valid: true, list: fields}
}

// WithType is the same value under another type of the same representation:
// a NULL given its type, or an ARRAY literal given its declared one.
func (v Value) WithType(t *Type) Value {
	v.typ = t
	return v
}

// Type is the value's type; nil for a NULL of unknown type.
func (v Value) Type() *Type { return v.typ }

// IsNull tells whether the value is NULL.
func (v Value) IsNull() bool { return !v.valid }

// AsBool is a BOOL's value; false for NULL.
func (v Value) AsBool() bool { return v.n != 0 }

// AsInt64 is the value of an INT64 or ENUM, or a DATE's days since 1970-01-01.
func (v Value) AsInt64() int64 { return v.n }

// AsFloat64 is the value of a FLOAT64 or FLOAT32.
func (v Value) AsFloat64() float64 { return math.Float64frombits(uint64(v.n)) }

// AsString is a STRING, the raw bytes of a BYTES or PROTO, or the canonical
// text of a JSON, UUID or INTERVAL.
func (v Value) AsString() string { return v.s }

// AsTime is a TIMESTAMP in UTC.
func (v Value) AsTime() time.Time { return time.Unix(v.n, int64(v.lo)).UTC() }

// AsNumeric is the exact value of a NUMERIC, of either dialect, as a new Rat.
// NaN counts as 0.
func (v Value) AsNumeric() *big.Rat {
	if v.typ.IsPGNumeric() {
		n, scale := v.AsDecimal()
		return new(big.Rat).SetFrac(n, Rescale(big.NewInt(1), 0, scale))
	}
	return int128{v.n, v.lo}.rat()
}

// List is the elements of an ARRAY or the fields of a STRUCT. The caller must
// not change them.
func (v Value) List() []Value { return v.list }
