package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/scripts/internal/bench"
)

// server replays the same messages for every execution of a partition, and
// passes the few calls around the read on to an embedded Spanner that has the
// table's schema.
type server struct {
	*bench.Schema
	partitions [][][]byte
}

// serve answers on a free port, which it prints, until ctx ends.
func serve(ctx context.Context, emulator string, partitions, rows, messageBytes int) error {
	schema, err := bench.DialSchema(emulator)
	if err != nil {
		return err
	}
	defer schema.Close()
	s := &server{Schema: schema}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range partitions {
		first, end := i*rows/partitions, (i+1)*rows/partitions
		m, err := messages(r, first, end-first, messageBytes)
		if err != nil {
			return err
		}
		s.partitions = append(s.partitions, m)
	}
	return bench.Serve(ctx, s, bench.NewCodec())
}

func (s *server) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	// The snapshots of this server are unknown to the embedded one, and the
	// schema does not change.
	req.Transaction = nil
	return s.Schema.ExecuteStreamingSql(req, stream)
}

func (s *server) BeginTransaction(context.Context, *spannerpb.BeginTransactionRequest) (*spannerpb.Transaction, error) {
	return &spannerpb.Transaction{Id: []byte("1"), ReadTimestamp: timestamppb.New(time.Now())}, nil
}

const tokenPrefix = "partition "

func (s *server) PartitionRead(context.Context, *spannerpb.PartitionReadRequest) (*spannerpb.PartitionResponse, error) {
	out := &spannerpb.PartitionResponse{}
	for i := range s.partitions {
		out.Partitions = append(out.Partitions, &spannerpb.Partition{PartitionToken: []byte(tokenPrefix + strconv.Itoa(i))})
	}
	return out, nil
}

func (s *server) StreamingRead(req *spannerpb.ReadRequest, stream spannerpb.Spanner_StreamingReadServer) error {
	i, err := strconv.Atoi(strings.TrimPrefix(string(req.GetPartitionToken()), tokenPrefix))
	if err != nil {
		return err
	}
	for _, m := range s.partitions[i] {
		if err := stream.SendMsg(bench.Raw(m)); err != nil {
			return err
		}
	}
	return nil
}
