package format

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// AvroDefinesOther reports whether an Avro file of Google's Spanner export defines
// something that is no table: a named schema, a model, a view, a sequence, a
// change stream. Its manifests list those beside the tables, and only the
// properties of their schemas tell which is which. It reads no further than the
// header.
func AvroDefinesOther(r io.Reader) (bool, error) {
	in := &countingReader{r: bufio.NewReader(r)}
	magic := make([]byte, len(avroMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != avroMagic {
		return false, &InputError{Reason: "not an Avro object container file"}
	}
	meta, err := readAvroMetadata(in)
	if err != nil {
		return false, errAvroHeader
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(meta["avro.schema"], &properties); err != nil {
		return false, fmt.Errorf("the Avro file's schema cannot be used: %w", err)
	}
	for _, name := range []string{"spannerEntity", "spannerViewQuery", "spannerChangeStreamForClause", "sequenceKind", "sequenceOption_0"} {
		if _, ok := properties[name]; ok {
			return true, nil
		}
	}
	return false, nil
}
