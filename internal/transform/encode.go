package transform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"spanbulk/internal/format"
)

// appendValue appends one of the values gojq makes as JSON. Objects have their
// fields in the order of the alphabet, since gojq does not keep another, but at
// the top those named as columns come first and in the columns' order.
func (r *run) appendValue(dst []byte, v any, top bool) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64:
		return format.AppendJSONFloat(dst, v), nil
	case *big.Int:
		return v.Append(dst, 10), nil
	case json.Number:
		return append(dst, v...), nil
	case string:
		return format.AppendJSONString(dst, []byte(v))
	case []any:
		return r.appendArray(dst, v)
	case map[string]any:
		return r.appendObject(dst, v, top)
	default:
		return dst, fmt.Errorf("jq made a %T", v)
	}
}

func (r *run) appendArray(dst []byte, array []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, v := range array {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = r.appendValue(dst, v, false); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (r *run) appendObject(dst []byte, object map[string]any, top bool) ([]byte, error) {
	// The scratch space holds the keys of all objects around this one too.
	first := len(r.keys)
	for key := range object {
		r.keys = append(r.keys, key)
	}
	keys := r.keys[first:]
	slices.SortFunc(keys, func(a, b string) int {
		if top {
			if c := cmp.Compare(r.position(a), r.position(b)); c != 0 {
				return c
			}
		}
		return strings.Compare(a, b)
	})
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = format.AppendJSONString(dst, []byte(key)); err != nil {
			return dst, err
		}
		if dst, err = r.appendValue(append(dst, ':'), object[key], false); err != nil {
			return dst, err
		}
	}
	r.keys = r.keys[:first]
	return append(dst, '}'), nil
}

// position returns the place of the column key, and the one behind all columns
// for what is none.
func (r *run) position(key string) int {
	if i, ok := r.columns[key]; ok {
		return i
	}
	return len(r.columns)
}
