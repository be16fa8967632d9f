package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cast"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"spanbulk/internal/fault"
)

// origin says where the value of a flag came from; a greater one wins.
type origin int

const (
	originDefault origin = iota
	originFile
	originToolEnv // a variable that other Spanner tools read
	originEnv     // SPANBULK_...
	originFlag
)

// settle gives every flag of cmd that was not set on the command line its value
// from the environment or the config file. Order: flag, SPANBULK_ variable, the
// variables of other Spanner tools, config file, default.
func (a *app) settle(cmd *cobra.Command) error {
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			a.from[f.Name] = originFlag
			errs = append(errs, checkNotEmpty(f))
		}
	})
	file, path, err := a.readConfig(cmd)
	if err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || isOwnFlag(f.Name) {
			return
		}
		errs = append(errs, a.settleFlag(f, file, path))
	})
	return errors.Join(errs...)
}

// checkNotEmpty refuses a flag given without a value, as an unset variable of a
// script gives it: taken for the default, --columns "$COLUMNS" would read all.
func checkNotEmpty(f *pflag.Flag) error {
	var empty bool
	switch f.Value.Type() { // the other types refuse what they cannot read
	case "string":
		empty = f.Value.String() == "" && f.Name != "csv-null" // an empty field is a marker like others
	case "stringSlice", "stringArray":
		empty = len(f.Value.(pflag.SliceValue).GetSlice()) == 0
	}
	if empty {
		return usagef("--%s is empty", f.Name)
	}
	return nil
}

// isOwnFlag reports whether a flag speaks of the command line itself and so has
// no place in environment or config file.
func isOwnFlag(name string) bool { return name == "help" || name == "version" || name == "config" }

func (a *app) settleFlag(f *pflag.Flag, file map[string]any, path string) error {
	for i, name := range envNames(f.Name) {
		if text, ok := a.streams.LookupEnv(name); ok && text != "" {
			a.from[f.Name] = originToolEnv
			if i == 0 {
				a.from[f.Name] = originEnv
			}
			return setFlag(f, text, name)
		}
	}
	if value, ok := file[f.Name]; ok {
		a.from[f.Name] = originFile
		return setFlag(f, value, path)
	}
	return nil
}

// envNames returns the variables that can set a flag, the strongest first.
func envNames(flag string) []string {
	own := "SPANBULK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	switch flag {
	case "project":
		return []string{own, "SPANNER_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"}
	case "instance":
		return []string{own, "SPANNER_INSTANCE_ID"}
	case "database":
		return []string{own, "SPANNER_DATABASE_ID"}
	case "emulator-endpoint":
		return []string{own, "SPANNER_EMULATOR_HOST"}
	default:
		return []string{own}
	}
}

// setFlag sets f to a value from somewhere else than the command line.
func setFlag(f *pflag.Flag, value any, where string) error {
	list, isList := value.([]any)
	slice, takesList := f.Value.(pflag.SliceValue)
	if isList && takesList {
		words := make([]string, len(list))
		for i, element := range list {
			word, err := settingText(element)
			if err != nil {
				return usagef("%s: --%s: %w", where, f.Name, err)
			}
			words[i] = word
		}
		return slice.Replace(words)
	}
	text, err := settingText(value)
	if err == nil {
		err = f.Value.Set(text)
	}
	if err != nil {
		return usagef("invalid value %q of --%s (from %s): %w", text, f.Name, where, err)
	}
	return nil
}

// settingText writes a scalar of a config file the way a flag takes it. YAML
// reads an unquoted timestamp as one.
func settingText(value any) (string, error) {
	if t, ok := value.(time.Time); ok {
		return t.Format(time.RFC3339Nano), nil
	}
	text, err := cast.ToStringE(value)
	if err != nil {
		return "", errors.New("not a single value")
	}
	return text, nil
}

// readConfig reads the config file, if there is one, and returns what it says
// for cmd: the top level, overridden by the command's section.
func (a *app) readConfig(cmd *cobra.Command) (settings map[string]any, path string, err error) {
	path, err = a.configPath(cmd)
	if path == "" || err != nil {
		return nil, "", err
	}
	// Names of flags have no NUL, so a dot in a key stays a dot.
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	v.SetConfigFile(path)
	if filepath.Ext(path) == "" {
		v.SetConfigType("yaml")
	}
	if err := v.ReadInConfig(); err != nil {
		return nil, "", usagef("read config file %s: %w", path, configReason(err))
	}
	all := v.AllSettings()
	if err := checkConfig(cmd.Root(), all); err != nil {
		err.err = fmt.Errorf("config file %s: %w", path, err.err)
		return nil, "", err
	}
	settings = maps.Clone(all)
	for c := cmd; c != nil; c = c.Parent() {
		if section, ok := all[c.Name()].(map[string]any); ok {
			maps.Copy(settings, section)
		}
	}
	return settings, path, nil
}

// configReason takes off what viper and os say twice.
func configReason(err error) error {
	if parse, ok := errors.AsType[viper.ConfigParseError](err); ok {
		return parse.Unwrap()
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// configPath returns the config file to read: the one that is named, else the
// first that exists of the usual places, else none.
func (a *app) configPath(cmd *cobra.Command) (string, error) {
	path := a.global.config
	if path == "" {
		path, _ = a.streams.LookupEnv("SPANBULK_CONFIG")
	}
	if path != "" {
		return path, nil
	}
	for _, path := range a.usualConfigPaths() {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", nil
}

const configName = "spanbulk.yaml"

func (a *app) usualConfigPaths() []string {
	paths := []string{configName}
	env := func(name string) string { v, _ := a.streams.LookupEnv(name); return v }
	dir := env("XDG_CONFIG_HOME")
	switch {
	case dir != "":
	case runtime.GOOS == "windows":
		dir = env("AppData")
	case env("HOME") != "":
		dir = filepath.Join(env("HOME"), ".config")
	}
	if dir != "" {
		paths = append(paths, filepath.Join(dir, "spanbulk", configName), filepath.Join(dir, configName))
	}
	return paths
}

// checkConfig refuses keys that no command has: a mistyped key would silently
// do nothing.
func checkConfig(root *cobra.Command, all map[string]any) *usageError {
	flags, sections := configKeys(root)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		own, isSection := sections[key]
		if isSection {
			section, ok := all[key].(map[string]any)
			if !ok {
				return usagef("%q is the section of a command and holds keys of its own", key)
			}
			for _, inner := range slices.Sorted(maps.Keys(section)) {
				if !slices.Contains(own, inner) {
					return unknownKey(key+"."+inner, inner, own)
				}
			}
			continue
		}
		if !slices.Contains(flags, key) {
			return unknownKey(key, key, append(flags, slices.Sorted(maps.Keys(sections))...))
		}
	}
	return nil
}

func unknownKey(shown, key string, known []string) *usageError {
	e := usagef("unknown key %q", shown)
	e.hint = fault.DidYouMean(key, known)
	return e
}

// configKeys returns the keys a config file may have: the flags of all
// commands at its top level, and in a command's section that command's.
func configKeys(root *cobra.Command) (flags []string, sections map[string][]string) {
	all := map[string]bool{}
	sections = map[string][]string{}
	for _, c := range root.Commands() {
		var own []string
		add := func(f *pflag.Flag) {
			if !isOwnFlag(f.Name) {
				own = append(own, f.Name)
				all[f.Name] = true
			}
		}
		c.LocalFlags().VisitAll(add)
		c.InheritedFlags().VisitAll(add)
		sections[c.Name()] = own
	}
	return slices.Sorted(maps.Keys(all)), sections
}
