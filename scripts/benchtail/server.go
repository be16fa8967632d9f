package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/scripts/internal/bench"
)

// server sends the same messages for every partition of the change stream, and
// passes all else on.
type server struct {
	*bench.Schema
	partitions int
	messages   [][]byte
}

// serve answers on a free port, which it prints, until ctx ends.
func serve(ctx context.Context, o options) error {
	schema, err := bench.DialSchema(o.endpoint)
	if err != nil {
		return err
	}
	defer schema.Close()
	s := &server{Schema: schema, partitions: o.partitions}
	if s.messages, err = messages(o.begin.at(), o.rows/o.partitions, o.perMessage); err != nil {
		return err
	}
	return bench.Serve(ctx, s, bench.NewCodec())
}

func (s *server) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	if !strings.Contains(req.GetSql(), "READ_"+streamName) {
		return s.Schema.ExecuteStreamingSql(req, stream)
	}
	token, start := "", ""
	for _, p := range req.GetParams().GetFields() {
		switch v := p.GetStringValue(); {
		case strings.HasPrefix(v, tokenPrefix):
			token = v
		case strings.HasSuffix(v, "Z") && (start == "" || v < start): // the other one is the end
			start = v
		}
	}
	if token == "" {
		return s.sendPartitions(start, stream)
	}
	for _, m := range s.messages {
		if err := stream.SendMsg(bench.Raw(m)); err != nil {
			return err
		}
	}
	return nil
}

const tokenPrefix = "__8BAYEG0yuUbgABgsYdqSAAARAYTQi0"

// sendPartitions answers the initial query.
func (s *server) sendPartitions(start string, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	if _, err := time.Parse(time.RFC3339Nano, start); err != nil {
		return fmt.Errorf("start of the initial query: %w", err)
	}
	m := &spannerpb.PartialResultSet{Metadata: metadata()}
	for i := range s.partitions {
		child := list(text(fmt.Sprintf("%s%08d", tokenPrefix, i)), list())
		record := list(text(start), text(fmt.Sprintf("%08d", i)), list(child))
		m.Values = append(m.Values, list(list(list(), list(), list(record))))
	}
	return stream.Send(m)
}
