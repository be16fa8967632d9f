package format

import "cloud.google.com/go/spanner/apiv1/spannerpb"

type AvroCodec string

const (
	AvroNull      AvroCodec = "null"
	AvroDeflate   AvroCodec = "deflate"
	AvroSnappy    AvroCodec = "snappy"
	AvroZstandard AvroCodec = "zstandard"
)

type AvroOptions struct{ Codec AvroCodec }

func (AvroOptions) Validate() error                                                { return nil }
func NewAvro(columns []*spannerpb.StructType_Field, o AvroOptions) (Format, error) { return nil, nil }
