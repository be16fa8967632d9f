package writer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/writer"
)

// TestDropLogs wants a line for each record dropped, with Spanner's text only
// where values may be seen.
func TestDropLogs(t *testing.T) {
	f := serve(t, &fake{batchWrite: func(_ int, _ *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		return answer(s, codes.AlreadyExists, "Row [alice] already exists", 0)
	}})
	for _, show := range []bool{false, true} {
		var log bytes.Buffer
		opt := quick(writer.Options{Refuser: writer.Drop(slog.New(slog.NewTextHandler(&log, nil)), show)})
		if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 1), 1); err != nil {
			t.Fatal(err)
		}
		got := log.String()
		if strings.Count(got, "\n") != 1 || !strings.Contains(got, `record=in.ndjson:1 table=T operation=insert-or-update code=ALREADY_EXISTS`) {
			t.Errorf("log %q", got)
		}
		if strings.Contains(got, "alice") != show {
			t.Errorf("show values %v: log %q", show, got)
		}
	}
}

// TestUnknownOutcomeIsKept wants the mark of a dead letter that goes back in to
// survive.
func TestUnknownOutcomeIsKept(t *testing.T) {
	f := serve(t, &fake{batchWrite: func(_ int, _ *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		return answer(s, codes.AlreadyExists, "there", 0)
	}})
	records := numbered(plainTable(t, 1), 1)
	records[0].UnknownOutcome = true
	var refused refusals
	if _, err := write(t, connect(t, f.target), quick(writer.Options{Refuser: &refused}), records, 1); err != nil {
		t.Fatal(err)
	}
	if len(refused.list) != 1 || !refused.list[0].UnknownOutcome {
		t.Errorf("refused %+v", refused.list)
	}
}

// TestSkippedRecordsCount wants them in the balance, and chunks of nothing but
// such to end.
func TestSkippedRecordsCount(t *testing.T) {
	f := serve(t, &fake{})
	opt := quick(writer.Options{})
	w, err := writer.New(connect(t, f.target), opt)
	if err != nil {
		t.Fatal(err)
	}
	chunks := make(chan *writer.Chunk, 3)
	ended := 0
	records := numbered(plainTable(t, 1), 3)
	for i := range records {
		c := w.NewChunk(source, func() { ended++ })
		c.Skip()
		if i > 0 {
			c.Skip()
			c.Add(&records[i])
		}
		chunks <- c
	}
	close(chunks)
	if err := w.Run(t.Context(), chunks); err != nil {
		t.Fatal(err)
	}
	if ended != 3 || opt.Progress.Skipped.Load() != 5 {
		t.Errorf("%d chunks ended, %d skipped", ended, opt.Progress.Skipped.Load())
	}
	checkBalance(t, opt.Progress, 7, 0)
}
