package emulator_test

import (
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"

	"spanbulk/internal/emulator"
)

// BenchmarkCommitWatched is BenchmarkCommit with rows that no change stream,
// another table's or this one's change stream watches.
func BenchmarkCommitWatched(b *testing.B) {
	other := `CREATE TABLE Other (K INT64) PRIMARY KEY (K)`
	for _, c := range []struct {
		name string
		ddl  []string
	}{
		{"none", []string{wideDDL}},
		{"other", []string{wideDDL, other, `CREATE CHANGE STREAM S FOR Other`}},
		{"one", []string{wideDDL, `CREATE CHANGE STREAM S FOR Wide`}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := start(b, emulator.Options{}, c.ddl...)
			const batches = 100
			var reqs []prepared
			for i := range batches {
				reqs = append(reqs, commitRequest(b, f, i*commitRows, false))
			}
			wipe := deleteAll(f)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n == batches {
					b.StopTimer()
					if _, err := f.api().Commit(b.Context(), wipe); err != nil {
						b.Fatal(err)
					}
					n = 0
					b.StartTimer()
				}
				var resp spannerpb.CommitResponse
				if err := f.conn.Invoke(b.Context(), spannerpb.Spanner_Commit_FullMethodName, reqs[n], &resp, grpc.ForceCodecV2(newDrain())); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(b.N)*commitRows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkTail reads prepared data change records of one mod each.
func BenchmarkTail(b *testing.B) {
	f := start(b, onePartition, schemaCS...)
	at := f.now(b)
	const commits, each = 100, 1000
	for i := range commits {
		var ms []*spannerpb.Mutation
		for j := range each / 2 {
			// Tables in turn make a record of every row.
			id := i*each + j
			ms = append(ms, insert("Users", "UserId,Name,Age", row(id, "somebody", 40)), insert("Accounts", "AccountId,Country,Year", row(id, "Ruritania", 1894)))
		}
		f.commit(b, ms...)
	}
	sql := readSQL("StreamAll", at, f.now(b), f.tokens(b, "StreamAll", at)[0], 300_000)
	b.ReportAllocs()
	bytes := 0
	for b.Loop() {
		stream, err := f.conn.NewStream(b.Context(), &grpc.StreamDesc{ServerStreams: true}, spannerpb.Spanner_ExecuteStreamingSql_FullMethodName, grpc.ForceCodecV2(newDrain()))
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.SendMsg(&spannerpb.ExecuteSqlRequest{Session: f.session, Sql: sql}); err != nil {
			b.Fatal(err)
		}
		if err := stream.CloseSend(); err != nil {
			b.Fatal(err)
		}
		var c counted
		for stream.RecvMsg(&c) == nil {
		}
		bytes += c.bytes
	}
	b.ReportMetric(float64(b.N)*commits*each/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(bytes)/float64(b.N)/(commits*each), "B/record")
}

// BenchmarkTailLatency is one insert from its commit to its record.
func BenchmarkTailLatency(b *testing.B) {
	f := start(b, onePartition, schemaCS...)
	at := f.now(b)
	stream, err := f.api().ExecuteStreamingSql(b.Context(), &spannerpb.ExecuteSqlRequest{Session: f.session, Sql: readSQL("StreamUsers", at, time.Time{}, f.tokens(b, "StreamUsers", at)[0], 300_000)})
	if err != nil {
		b.Fatal(err)
	}
	id := 0
	for b.Loop() {
		f.commit(b, insert("Users", "UserId", row(id)))
		id++
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}
