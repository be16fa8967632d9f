package format

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"spanbulk/internal/wire"
)

var errWantBase64 = errors.New("not base64")

// noBase64 is the code of what is in neither alphabet.
const noBase64 = 0xff

// base64Codes are the six bits of every character of both alphabets of
// RFC 4648. Those of the URL-safe one alone have bit 6 set besides.
var base64Codes = func() (codes [256]byte) {
	const standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range codes {
		codes[i] = noBase64
	}
	for i := range len(standard) {
		codes[standard[i]] = byte(i)
	}
	codes['-'] = 62 | urlSafe
	codes['_'] = 63 | urlSafe
	return codes
}()

const urlSafe = 0x40

// textBase64 takes either alphabet of RFC 4648, padded or not, and writes the
// standard one, padded. Bits beyond the last whole byte must be zero: they would
// be lost.
func textBase64(dst, text []byte) ([]byte, error) {
	body := text
	for n := len(body); n > 0 && len(text)-n < 2 && body[n-1] == '='; n = len(body) {
		body = body[:n-1]
	}
	var seen byte
	for _, c := range body {
		seen |= base64Codes[c]
	}
	rest := len(body) % 4
	if seen&0x80 != 0 || rest == 1 || len(text) != len(body) && len(text)%4 != 0 || lostBits(body, rest) {
		return dst, errWantBase64
	}
	if seen&urlSafe == 0 && len(text)%4 == 0 {
		return wire.AppendString(dst, text), nil
	}
	return appendStandardBase64(dst, body), nil
}

func lostBits(body []byte, rest int) bool {
	switch rest {
	case 2:
		return base64Codes[body[len(body)-1]]&0xf != 0
	case 3:
		return base64Codes[body[len(body)-1]]&0x3 != 0
	default:
		return false
	}
}

func appendStandardBase64(dst, body []byte) []byte {
	padding := "==="[:(4-len(body)%4)%4]
	dst = wire.AppendString(dst, "")
	dst = protowire.AppendVarint(dst[:len(dst)-1], uint64(len(body)+len(padding)))
	start := len(dst)
	dst = append(dst, body...)
	for i, c := range dst[start:] {
		switch c {
		case '-':
			dst[start+i] = '+'
		case '_':
			dst[start+i] = '/'
		}
	}
	return append(dst, padding...)
}
