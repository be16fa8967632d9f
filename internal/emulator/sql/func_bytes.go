package sql

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"spanbulk/internal/emulator/value"
)

// bytesFunctions hash and spell BYTES.
var bytesFunctions = map[string][]signature{
	"MD5":         hashFunction(func(s string) string { h := md5.Sum([]byte(s)); return string(h[:]) }),
	"SHA1":        hashFunction(func(s string) string { h := sha1.Sum([]byte(s)); return string(h[:]) }),
	"SHA256":      hashFunction(func(s string) string { h := sha256.Sum256([]byte(s)); return string(h[:]) }),
	"SHA512":      hashFunction(func(s string) string { h := sha512.Sum512([]byte(s)); return string(h[:]) }),
	"TO_BASE64":   {{args: types(bytesT), result: stringT, f: func(v []value.Value) (value.Value, error) { return value.String(base64Text(v[0].AsString())), nil }}},
	"FROM_BASE64": {{args: types(stringT), result: bytesT, f: fromBase64}},
	"TO_HEX": {{args: types(bytesT), result: stringT, f: func(v []value.Value) (value.Value, error) {
		return value.String(hex.EncodeToString([]byte(v[0].AsString()))), nil
	}}},
	"FROM_HEX": {{args: types(stringT), result: bytesT, f: fromHex}},
}

func hashFunction(hash func(string) string) []signature {
	f := func(v []value.Value) (value.Value, error) { return value.Bytes(hash(v[0].AsString())), nil }
	return []signature{{args: types(stringT), result: bytesT, f: f}, {args: types(bytesT), result: bytesT, f: f}}
}

func fromBase64(v []value.Value) (value.Value, error) {
	raw, err := base64.StdEncoding.DecodeString(v[0].AsString())
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(v[0].AsString())
	}
	if err != nil {
		return value.Value{}, outOfRange("Failed to decode invalid base64 string")
	}
	return value.Bytes(string(raw)), nil
}

func fromHex(v []value.Value) (value.Value, error) {
	s := v[0].AsString()
	if len(s)%2 == 1 {
		s = "0" + s
	}
	raw, err := hex.DecodeString(strings.ToLower(s))
	if err != nil {
		return value.Value{}, outOfRange("Failed to decode invalid hexadecimal string")
	}
	return value.Bytes(string(raw)), nil
}
