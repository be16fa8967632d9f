package cmd

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"
)

// The flag types of the command line. Each checks its bounds in Set, so that a
// value out of bounds fails before anything is opened, whether it came from a
// flag, the environment or a config file; the caller adds the flag's name.
var (
	_ pflag.Value = (*sizeValue)(nil)
	_ pflag.Value = (*durationValue)(nil)
	_ pflag.Value = (*timestampValue)(nil)
	_ pflag.Value = (*intValue)(nil)
	_ pflag.Value = (*choiceValue[string])(nil)
	_ pflag.Value = (*tagValue)(nil)

	_ pflag.SliceValue = (*namesValue)(nil)
)

// sizeValue is a number of bytes: 1MiB, 12mb, 1048576. KB, MB, GB are powers of
// 1000, KiB, MiB, GiB of 1024; case does not matter.
type sizeValue struct {
	target   *int64
	min, max int64
}

func (v *sizeValue) Type() string { return "size" }

func (v *sizeValue) String() string {
	if v.target == nil || *v.target == 0 {
		return ""
	}
	return formatSize(*v.target)
}

func (v *sizeValue) Set(text string) error {
	n, err := humanize.ParseBytes(strings.TrimSpace(text))
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("not a size such as 1MiB, 12MB or 1048576")
	}
	if int64(n) < v.min || int64(n) > v.max {
		return fmt.Errorf("out of bounds: %s", bounds(formatSize, v.min, v.max, math.MaxInt64))
	}
	*v.target = int64(n)
	return nil
}

// formatSize writes n without loss: with the largest unit that divides it.
func formatSize(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n != 0 && n%1024 == 0 && i < len(units)-1; i++ {
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + units[i]
}

// durationValue is a duration as Go writes it, or with days: 500ms, 1h30m, 7d.
type durationValue struct {
	target   *time.Duration
	min, max time.Duration
}

func (v *durationValue) Type() string { return "duration" }

func (v *durationValue) String() string {
	if v.target == nil || *v.target == 0 {
		return ""
	}
	return formatDuration(*v.target)
}

func (v *durationValue) Set(text string) error {
	d, err := parseDuration(text)
	if err != nil {
		return err
	}
	if d < v.min || d > v.max {
		return fmt.Errorf("out of bounds: %s", bounds(formatDuration, v.min, v.max, math.MaxInt64))
	}
	*v.target = d
	return nil
}

var days = regexp.MustCompile(`^(\d{1,5})d`)

func parseDuration(text string) (time.Duration, error) {
	rest, total := strings.TrimSpace(text), time.Duration(0)
	found := days.FindStringSubmatch(rest)
	if found != nil {
		n, _ := strconv.Atoi(found[1]) // five digits always fit
		total, rest = time.Duration(n)*24*time.Hour, rest[len(found[0]):]
	}
	if found != nil && rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || found != nil && d < 0 {
		return 0, fmt.Errorf("not a duration such as 500ms, 10s, 1h30m or 7d")
	}
	return total + d, nil
}

// formatDuration is Duration.String without the zero units at its end.
func formatDuration(d time.Duration) string {
	if d != 0 && d%(24*time.Hour) == 0 {
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// timestampValue is an RFC 3339 timestamp, to the nanosecond.
type timestampValue struct{ target *time.Time }

func (v *timestampValue) Type() string { return "timestamp" }

func (v *timestampValue) String() string {
	if v.target == nil || v.target.IsZero() {
		return ""
	}
	return v.target.Format(time.RFC3339Nano)
}

func (v *timestampValue) Set(text string) error {
	t, err := parseTimestamp(text)
	if err == nil {
		*v.target = t
	}
	return err
}

func parseTimestamp(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
	if err != nil || t.Before(time.Unix(0, 0)) {
		return time.Time{}, fmt.Errorf("not an RFC 3339 timestamp such as 2026-01-31T12:00:00.000000001Z")
	}
	return t.UTC(), nil
}

// intValue is a whole number within bounds.
type intValue struct {
	target   *int
	min, max int
}

func (v *intValue) Type() string { return "int" }

func (v *intValue) String() string {
	if v.target == nil || *v.target == 0 {
		return ""
	}
	return strconv.Itoa(*v.target)
}

func (v *intValue) Set(text string) error {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("not a whole number")
	}
	if n < v.min || n > v.max {
		return fmt.Errorf("out of bounds: %s", bounds(strconv.Itoa, v.min, v.max, math.MaxInt))
	}
	*v.target = n
	return nil
}

// choiceValue is one of a few words, in any case.
type choiceValue[T ~string] struct {
	target  *T
	choices []T
	// upper says that the words are written in capitals.
	upper bool
}

func (v *choiceValue[T]) Type() string { return "word" }

func (v *choiceValue[T]) String() string {
	if v.target == nil {
		return ""
	}
	return string(*v.target)
}

func (v *choiceValue[T]) Set(text string) error {
	word := T(strings.ToLower(strings.TrimSpace(text)))
	if v.upper {
		word = T(strings.ToUpper(string(word)))
	}
	if !slices.Contains(v.choices, word) {
		return fmt.Errorf("not one of %s", strings.Join(v.wordList(), ", "))
	}
	*v.target = word
	return nil
}

func (v *choiceValue[T]) wordList() []string {
	words := make([]string, len(v.choices))
	for i, c := range v.choices {
		words[i] = string(c)
	}
	return words
}

// tagValue is a tag of requests or transactions. Spanner cuts off what is longer
// than its bound without a word.
type tagValue struct{ target *string }

const maxTag = 50

func (v *tagValue) Type() string { return "tag" }

func (v *tagValue) String() string {
	if v.target == nil {
		return ""
	}
	return *v.target
}

func (v *tagValue) Set(text string) error {
	if len(text) > maxTag || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("out of bounds: at most %d printable ASCII characters", maxTag)
	}
	*v.target = text
	return nil
}

// bounds says what a value must be; a limit of unbounded is not mentioned.
func bounds[T int | int64 | time.Duration](format func(T) string, low, high, unbounded T) string {
	if high == unbounded {
		return "at least " + format(low)
	}
	return format(low) + " to " + format(high)
}

// namesValue is several names as SQL has them, parted by commas or given again.
// Quotes stay: they say something of a name, and may hold a comma.
type namesValue struct {
	target *[]string
	given  bool
}

// Type implements pflag.Value; it is that of pflag's own lists.
func (v *namesValue) Type() string { return "stringSlice" }

func (v *namesValue) String() string {
	if v.target == nil {
		return ""
	}
	return strings.Join(*v.target, ",")
}

func (v *namesValue) Set(text string) error {
	if !v.given {
		*v.target = nil
	}
	v.given = true
	*v.target = append(*v.target, splitNames(text, ',')...)
	return nil
}

// Append implements pflag.SliceValue.
func (v *namesValue) Append(name string) error {
	*v.target = append(*v.target, name)
	return nil
}

// Replace implements pflag.SliceValue.
func (v *namesValue) Replace(names []string) error {
	*v.target = names
	return nil
}

// GetSlice implements pflag.SliceValue.
func (v *namesValue) GetSlice() []string { return *v.target }

// splitNames splits at the separators outside of quotes.
func splitNames(text string, separator byte) []string {
	if text == "" {
		return nil
	}
	var names []string
	start, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '`' && c == '\\':
			i++ // whatever it is, it ends nothing
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '`' || c == '"':
			quote = c
		case c == separator:
			names = append(names, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(names, strings.TrimSpace(text[start:]))
}
