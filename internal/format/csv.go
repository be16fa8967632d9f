package format

import "cloud.google.com/go/spanner/apiv1/spannerpb"

type CSVOptions struct{}

func (CSVOptions) Validate() error { return nil }
func NewCSV(columns []*spannerpb.StructType_Field, o CSVOptions, v ValueOptions) (Format, error) {
	return nil, nil
}
