package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpColumns is the width of help where the terminal's is not known.
const helpColumns = 100

// printHelp writes the help of c to stdout: what it does, examples, then flags
// by group. It is asked for, so it is output, not an error.
func (a *app) printHelp(c *cobra.Command) {
	// Cobra adds these two only to the command that is run.
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	w := c.OutOrStdout()
	about := c.Long
	if about == "" {
		about = c.Short
	}
	fmt.Fprintln(w, strings.TrimSpace(about))
	if !c.Runnable() && !c.HasSubCommands() {
		return
	}
	fmt.Fprintf(w, "\nUsage:\n  %s\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	printCommands(w, c)
	a.printFlags(w, c)
	if c.HasParent() {
		fmt.Fprintln(w, "\nExit codes: see spanbulk help exit-codes.")
	} else {
		fmt.Fprintln(w, "\nMore: spanbulk help COMMAND, spanbulk help exit-codes.")
	}
}

func printCommands(w io.Writer, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(w, "\nCommands:")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-12s %s\n", sub.Name(), sub.Short)
		}
	}
}

func (a *app) printFlags(w io.Writer, c *cobra.Command) {
	columns := a.streams.Columns
	if columns <= 0 {
		columns = helpColumns
	}
	sets := map[string]*pflag.FlagSet{}
	c.Flags().VisitAll(func(f *pflag.Flag) { addToGroup(sets, f) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { addToGroup(sets, f) })
	for _, name := range groupOrder() {
		if set := sets[name]; set != nil {
			fmt.Fprintf(w, "\n%s:\n%s", name, set.FlagUsagesWrapped(columns))
		}
	}
}

func addToGroup(sets map[string]*pflag.FlagSet, f *pflag.Flag) {
	name := groupGeneral
	if tag := f.Annotations[groupKey]; len(tag) > 0 {
		name = tag[0]
	}
	if sets[name] == nil {
		sets[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
		sets[name].SortFlags = false
	}
	if sets[name].Lookup(f.Name) != nil {
		return
	}
	shown := *f
	if f.Value.Type() == "bool" {
		shown.Value = plainValue{f.Value}
	}
	sets[name].AddFlag(&shown)
}

// plainValue hides from pflag that a flag is a boolean, which it would show as
// --quiet[=true|false].
type plainValue struct{ pflag.Value }

func newHelpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command or a topic",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(c.Root(), args)
			}
			a.running = true
			a.printHelp(about)
			return nil
		},
	}
}

func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of spanbulk", Long: exitCodesHelp}
}
