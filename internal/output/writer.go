package output

// Writer takes the finished chunks of one partition. It may share its file with
// other Writers, but is itself for one goroutine at a time.
type Writer struct {
	set  *Set
	sink sink
	own  bool // whether the sink ends with this partition
}

// WriteChunk writes b, a chunk of that many records, whole and in one piece.
// b may be used again as soon as WriteChunk has returned. A full disk is
// errors.Is syscall.ENOSPC, a closed pipe errors.Is ErrReaderGone.
func (w *Writer) WriteChunk(b []byte, records int) error {
	if len(b) == 0 {
		return nil
	}
	return w.set.fail(w.sink.write(b, records))
}

// Close says that the partition has no more chunks. Where it has a file of its
// own, that is then safe on disk, though still hidden. Without Close there is
// no Commit.
func (w *Writer) Close() error {
	if !w.own {
		return nil
	}
	return w.set.fail(w.sink.finish())
}
