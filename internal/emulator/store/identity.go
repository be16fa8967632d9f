package store

import (
	"math/bits"

	"spanbulk/internal/emulator/value"
)

// nextIdentity is a new value for an identity column: a counter with its bits
// reversed, so that values are unique, positive and spread over the key space.
func (s *Store) nextIdentity() value.Value {
	return value.Int64(int64(bits.Reverse64(s.identity.Add(1)) >> 1))
}
