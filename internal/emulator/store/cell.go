package store

import (
	"bytes"
	"errors"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// Limits of the service.
const (
	maxCellBytes = 10 << 20
	maxKeyBytes  = 8192
	maxMutations = 80_000
)

func notFound(text, resourceType, name string) error {
	st := status.New(codes.NotFound, text)
	if d, err := st.WithDetails(&errdetails.ResourceInfo{ResourceType: resourceType, ResourceName: name}); err == nil {
		st = d
	}
	return st.Err()
}

// sentinelWire is the string_value spanner.commit_timestamp().
var sentinelWire = append([]byte{0x1a, byte(len(value.CommitTimestampSentinel))}, value.CommitTimestampSentinel...)

func isSentinel(wire []byte) bool { return bytes.Equal(wire, sentinelWire) }

func hasSentinel(message []byte) bool { return bytes.Contains(message, sentinelWire) }

// allowsSentinel tells whether the commit timestamp may be written to a column.
func (p *plan) allowsSentinel(c *catalog.Column) error {
	if c.AllowCommitTimestamp && !p.unstamped[c.Slot] {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "Cannot write commit timestamp because the allow_commit_timestamp column option is not set to true for column %s, or for all corresponding shared key columns in this table's interleaved table hierarchy.", c.Name)
}

// cellError turns a value.Error into the status that mutations and keys get.
func cellError(err error, t *catalog.Table, c *catalog.Column) error {
	var e *value.Error
	code := codes.FailedPrecondition
	if errors.As(err, &e) && e.OutOfRange {
		code = codes.InvalidArgument
	}
	return status.Errorf(code, "Invalid value for column %s in table %s: Expected %s.", c.Name, t.Name, c.Type)
}

// checkCell checks a canonical value against its column's declaration.
func checkCell(t *catalog.Table, c *catalog.Column, wire []byte) error {
	if value.IsNullWire(wire) {
		if c.NotNull {
			return status.Errorf(codes.FailedPrecondition, "%s must not be NULL in table %s.", c.Name, t.Name)
		}
		return nil
	}
	if len(wire) > maxCellBytes && cellSize(c.Type, wire) > maxCellBytes {
		return status.Errorf(codes.InvalidArgument, "Invalid commit request: maximum size for a single column value is: %d bytes.", maxCellBytes)
	}
	switch c.Type.Code {
	case value.StringCode, value.BytesCode:
		return checkLength(t, c, c.Type, wire)
	case value.ArrayCode:
		return checkArray(t, c, wire)
	}
	return nil
}

// cellSize is how large a value is to Spanner, which knows no base64.
func cellSize(t *value.Type, wire []byte) int {
	size := value.PayloadSize(wire)
	switch {
	case t.Code == value.BytesCode:
		padding := len(wire) - len(bytes.TrimRight(wire, "="))
		return size/4*3 - padding
	case t.Code == value.ArrayCode && t.Elem.Code == value.BytesCode:
		return size / 4 * 3 // within two bytes for each element
	}
	return size
}

func checkLength(t *catalog.Table, c *catalog.Column, typ *value.Type, wire []byte) error {
	limit := c.MaxLen
	switch {
	case limit == 0 && typ.Code == value.StringCode:
		limit = catalog.MaxStringLength
	case limit == 0:
		limit = catalog.MaxBytesLength
	}
	// One character takes a byte at least, one byte at least one of base64.
	if int64(len(wire)) <= limit {
		return nil
	}
	v, err := value.FromWire(typ, wire)
	if err != nil {
		return cellError(err, t, c)
	}
	size := len(v.AsString())
	if typ.Code == value.StringCode {
		size = utf8.RuneCountInString(v.AsString())
	}
	if int64(size) <= limit {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "New value exceeds the maximum size limit for this column in this database: %s.%s, size: %d, limit: %d.", t.Name, c.Name, size, limit)
}

func checkArray(t *catalog.Table, c *catalog.Column, wire []byte) error {
	if c.Type.Elem.Code != value.StringCode && c.Type.Elem.Code != value.BytesCode && c.VectorLength == 0 {
		return nil
	}
	if c.MaxLen > 0 && int64(len(wire)) <= c.MaxLen && c.VectorLength == 0 {
		return nil
	}
	v, err := value.FromWire(c.Type, wire)
	if err != nil {
		return cellError(err, t, c)
	}
	if c.VectorLength > 0 && int64(len(v.List())) != c.VectorLength {
		return status.Errorf(codes.FailedPrecondition, "Array of column %s.%s must have %d elements, has %d.", t.Name, c.Name, c.VectorLength, len(v.List()))
	}
	for _, item := range v.List() {
		if item.IsNull() || c.VectorLength > 0 {
			continue
		}
		if err := checkLength(t, c, c.Type.Elem, item.AppendWire(nil)); err != nil {
			return err
		}
	}
	return nil
}

// checkFuture refuses timestamps ahead of the clock in columns that may hold
// commit timestamps: their order is to be that of commits.
func checkFuture(c *catalog.Column, wire []byte, now int64) error {
	if !c.AllowCommitTimestamp || value.IsNullWire(wire) {
		return nil
	}
	v, err := value.FromWire(c.Type, wire)
	if err == nil && v.AsTime().After(time.UnixMicro(now)) {
		return status.Errorf(codes.FailedPrecondition, "Cannot write timestamps in the future into column %s, which allows commit timestamps.", c.Name)
	}
	return nil
}
