package cmd

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
)

const (
	// drawEvery is how often a bar is redrawn.
	drawEvery = 200 * time.Millisecond
	// logEvery is how often the log tells of progress where there is no bar.
	logEvery = 30 * time.Second
)

// progressMode is the value of --progress.
type progressMode string

const (
	progressAuto   progressMode = "auto"
	progressAlways progressMode = "always"
	progressNever  progressMode = "never"
)

// progressState is what a command has done so far.
type progressState struct {
	done, total int64  // parts of the work; total is 0 until it is known
	part        string // empty: the work has no parts to count, only rows
	rows, bytes int64
}

// progress shows how far a command is, from a goroutine of its own.
type progress struct {
	quit, ended chan struct{}
}

// startProgress shows what state returns until stop is called: as a bar on a
// terminal, else as a log line now and then.
func (a *app) startProgress(mode progressMode, state func() progressState) *progress {
	p := &progress{quit: make(chan struct{}), ended: make(chan struct{})}
	show, every := a.logProgress, logEvery
	if a.wantsBar(mode) {
		show, every = a.newBar(), drawEvery
	} else if mode == progressNever {
		show, every = func(progressState, time.Duration) {}, logEvery
	}
	start := a.now()
	go func() {
		defer close(p.ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-p.quit:
				return
			case <-ticker.C:
				show(state(), a.now().Sub(start))
			}
		}
	}()
	return p
}

// stop ends the display, waits for its last drawing and takes the bar off.
func (p *progress) stop(a *app) {
	close(p.quit)
	<-p.ended
	a.console.draw(func(io.Writer) {
		if a.console.clear != nil {
			a.console.clear()
			a.console.clear = nil
		}
	})
}

func (a *app) wantsBar(mode progressMode) bool {
	if a.global.quiet || mode == progressNever {
		return false
	}
	term, _ := a.streams.LookupEnv("TERM")
	return mode == progressAlways || a.streams.ErrIsTerminal && term != "dumb"
}

// newBar returns the function that draws a bar of the parts that are done. There
// is none before their number is known: the library draws a spinner from a
// goroutine of its own, which would write between our lines. Of work without
// parts it draws the rows.
func (a *app) newBar() func(progressState, time.Duration) {
	var bar *progressbar.ProgressBar
	return func(s progressState, elapsed time.Duration) {
		if s.part == "" {
			a.drawRows(describe(s, elapsed))
			return
		}
		if s.total == 0 {
			return
		}
		a.console.draw(func(w io.Writer) {
			if bar == nil {
				bar = newProgressBar(w, s.total)
				a.console.clear = func() { _ = bar.Clear() }
			}
			bar.Describe(describe(s, elapsed))
			// Never full, or the bar would end by itself: what is read may
			// still have to be written.
			_ = bar.Set64(min(s.done, s.total-1))
		})
	}
}

// drawRows draws a line of text that is no bar.
func (a *app) drawRows(text string) {
	const clearLine = "\r\x1b[K"
	a.console.draw(func(w io.Writer) {
		fmt.Fprint(w, clearLine+text)
		a.console.clear = func() { fmt.Fprint(w, clearLine) }
	})
}

func newProgressBar(w io.Writer, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(24),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetRenderBlankState(false),
	)
}

func describe(s progressState, elapsed time.Duration) string {
	text := fmt.Sprintf("%s rows, %s, %s rows/s", humanize.Comma(s.rows), humanize.IBytes(uint64(s.bytes)), humanize.Comma(rate(s.rows, elapsed)))
	if s.total > 0 {
		text = fmt.Sprintf("%d/%d %s, ", s.done, s.total, s.part) + text
	}
	return text
}

// rate is n a second.
func rate(n int64, elapsed time.Duration) int64 {
	if elapsed <= 0 {
		return 0
	}
	return int64(float64(n) / elapsed.Seconds())
}

func (a *app) logProgress(s progressState, elapsed time.Duration) {
	if s.part == "" {
		a.log.Info("progress", "rows", s.rows, "bytes", s.bytes, "rowsPerSecond", rate(s.rows, elapsed))
		return
	}
	a.log.Info("progress", s.part, s.done, "of", s.total, "rows", s.rows, "bytes", s.bytes, "rowsPerSecond", rate(s.rows, elapsed))
}
