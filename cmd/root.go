package cmd

import (
	"log/slog"

	"github.com/spf13/cobra"

	"spanbulk/internal/fault"
)

const rootLong = `Spanbulk moves rows in bulk between Cloud Spanner and files or pipes.

Every flag can also be given as an environment variable (--max-partitions as
SPANBULK_MAX_PARTITIONS) and in a config file (see --config), which holds the
same names, at its top level or in a section for each command.`

const rootExample = `  # Try it without a cloud account
  spanbulk emulator --database projects/p/instances/i/databases/shop --ddl schema.sql --data rows/

  # Export a table, one JSON object a line
  spanbulk export --database projects/p/instances/i/databases/shop --table Orders > orders.ndjson`

// newRootCommand returns the whole tree of commands for one run.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "spanbulk",
		Short:         "Move rows in bulk between Cloud Spanner and files or pipes",
		Long:          rootLong,
		Example:       rootExample,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		// The suggestion of cobra's is several lines; ours goes into the one.
		DisableSuggestions: true,
		Args:               unknownCommand,
		RunE:               func(c *cobra.Command, _ []string) error { a.running = true; return c.Help() },
		PersistentPreRunE:  func(c *cobra.Command, _ []string) error { return a.prepare(c) },
	}
	root.SetVersionTemplate("spanbulk {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.printHelp(c) })
	root.SetHelpCommand(newHelpCommand(a))
	a.global.addFlags(root.PersistentFlags())
	root.AddCommand(
		newExportCommand(a),
		newImportCommand(a),
		newTailCommand(a),
		newLookupCommand(a),
		newEmulatorCommand(a),
		newVersionCommand(a),
		newExitCodesTopic(),
	)
	completeChoices(root)
	return root
}

// unknownCommand refuses arguments of the root command: they can only be the
// name of a command that does not exist.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	e := usagef("unknown command %q", args[0])
	if e.hint = fault.DidYouMean(args[0], names); e.hint == "" {
		e.hint = "see spanbulk --help"
	}
	return e
}

// prepare settles the flags of c and sets up what depends on them. It runs
// before the command itself.
func (a *app) prepare(c *cobra.Command) error {
	if isAboutCommands(c) {
		return nil
	}
	if err := a.settle(c); err != nil {
		return err
	}
	a.log = a.global.newLogger(a.console)
	return nil
}

// isAboutCommands reports whether c tells of the program (help, version, shell
// completion) and so must work whatever the config file holds.
func isAboutCommands(c *cobra.Command) bool {
	if !c.HasParent() {
		return true
	}
	for ; c.HasParent(); c = c.Parent() {
		switch c.Name() {
		case "help", "version", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return true
		}
	}
	return false
}

// globalOptions are the flags of every command.
type globalOptions struct {
	config     string
	logLevel   logLevel
	logFormat  logFormat
	quiet      bool
	showValues showValues
}

type (
	logLevel   string
	logFormat  string
	showValues string
)

const (
	logText logFormat = "text"
	logJSON logFormat = "json"
)

func (o *globalOptions) addFlags(fs *flagSet) {
	o.logLevel, o.logFormat, o.showValues = "info", logText, "auto"
	g := group{fs, groupGeneral}
	g.text(&o.config, "config", "`file` with settings (default ./"+configName+", else "+configName+" in the user's config directory)")
	g.value(&choiceValue[logLevel]{target: &o.logLevel, choices: []logLevel{"debug", "info", "warn", "error"}}, "log-level", "least important `level` of log lines on stderr: debug, info, warn, error")
	g.value(&choiceValue[logFormat]{target: &o.logFormat, choices: []logFormat{logText, logJSON}}, "log-format", "`form` of log lines and errors on stderr: text, json")
	g.flag(&o.quiet, "quiet", "say nothing on stderr but errors")
	g.value(&choiceValue[showValues]{target: &o.showValues, choices: []showValues{"auto", "true", "false"}}, "show-values",
		"`whether` errors and log lines may show values of records, keys and Spanner's text about them: auto (only when stderr is a terminal), true, false")
}

func (o *globalOptions) newLogger(w *console) *slog.Logger {
	level := map[logLevel]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[o.logLevel]
	if o.quiet {
		level = slog.LevelError
	}
	options := &slog.HandlerOptions{Level: level}
	if o.logFormat == logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// showValues reports whether stderr may have values of records on it. A log
// that a machine collects should not; a person at the terminal sees his own data.
func (a *app) showValues() bool {
	switch a.global.showValues {
	case "true":
		return true
	case "false":
		return false
	default:
		return a.streams.ErrIsTerminal
	}
}

func flagError(c *cobra.Command, err error) error {
	e := &usageError{err: err, hint: "see " + c.CommandPath() + " --help"}
	if name, ok := unknownFlag(err); ok {
		var known []string
		c.Flags().VisitAll(func(f *pflagFlag) { known = append(known, "--"+f.Name) })
		if near := fault.DidYouMean(name, known); near != "" {
			e.hint = near
		}
	}
	return e
}
