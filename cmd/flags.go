package cmd

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type (
	flagSet   = pflag.FlagSet
	pflagFlag = pflag.Flag
)

// The groups that --help shows flags in, in this order.
const (
	groupWhat       = "What to read"
	groupSnapshot   = "Snapshot and service"
	groupFormat     = "Format"
	groupWhere      = "Where to"
	groupInto       = "Where to write"
	groupRecord     = "Fields and columns"
	groupWrite      = "Writing"
	groupFailure    = "Refused records"
	groupServe      = "Server"
	groupConnection = "Connection"
	groupGeneral    = "General"
)

func groupOrder() []string {
	return []string{groupWhat, groupSnapshot, groupInto, groupRecord, groupFormat, groupWrite, groupFailure, groupWhere, groupServe, groupConnection, groupGeneral}
}

// groupKey is the annotation that holds a flag's group.
const groupKey = "spanbulk_group"

// group adds flags to a set under one heading of the help.
type group struct {
	fs   *flagSet
	name string
}

func (g group) tag(flag string) {
	f := g.fs.Lookup(flag)
	f.Annotations = map[string][]string{groupKey: {g.name}}
}

func (g group) text(target *string, name, usage string) {
	g.fs.StringVar(target, name, *target, usage)
	g.tag(name)
}

func (g group) texts(target *[]string, name, usage string) {
	g.fs.StringArrayVar(target, name, nil, usage)
	g.tag(name)
}

// names is a list of identifiers.
func (g group) names(target *[]string, name, usage string) {
	g.fs.Var(&namesValue{target: target}, name, usage)
	g.tag(name)
}

// list is a flag that takes several words, parted by commas or given again.
func (g group) list(target *[]string, name, usage string) {
	g.fs.StringSliceVar(target, name, nil, usage)
	g.tag(name)
}

func (g group) flag(target *bool, name, usage string) {
	g.fs.BoolVar(target, name, *target, usage)
	g.tag(name)
}

func (g group) value(v pflag.Value, name, usage string) {
	g.fs.Var(v, name, usage)
	g.tag(name)
}

// shortText is text with a one-letter form.
func (g group) shortText(target *string, name, letter, usage string) {
	g.fs.StringVarP(target, name, letter, *target, usage)
	g.tag(name)
}

// unknownFlag returns the flag, with its dashes, that err says is unknown.
func unknownFlag(err error) (string, bool) {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(e.GetSpecifiedName()) < 2 {
		return "", false
	}
	return "--" + e.GetSpecifiedName(), true
}

// noArguments refuses what a command does not take, naming it.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := usagef("unexpected argument %q", args[0])
	e.hint = "see " + c.CommandPath() + " --help"
	return e
}

// completeChoices lets the shell complete the words of every flag that takes
// one of a few.
func completeChoices(c *cobra.Command) {
	complete := func(f *pflag.Flag) {
		if v, ok := f.Value.(interface{ wordList() []string }); ok {
			// It fails only if a flag has a completion already.
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.wordList(), cobra.ShellCompDirectiveNoFileComp))
		}
	}
	c.PersistentFlags().VisitAll(complete)
	c.LocalNonPersistentFlags().VisitAll(complete)
	for _, sub := range c.Commands() {
		completeChoices(sub)
	}
}
