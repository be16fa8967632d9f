package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in a release: -X spanbulk/cmd.version=v1.2.3.
var version string

// programVersion is the linker's version, else the module's, else the commit's,
// else says that the program was built from a working tree.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if revision := buildSetting(info, "vcs.revision"); revision != "" {
		if buildSetting(info, "vcs.modified") == "true" {
			revision += "-dirty"
		}
		return revision
	}
	return "built-from-source"
}

func buildSetting(info *debug.BuildInfo, key string) string {
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func newVersionCommand(a *app) *cobra.Command {
	verbose := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			a.running = true
			_, err := fmt.Fprintf(a.streams.Out, "spanbulk %s\n", programVersion())
			if err == nil && verbose {
				_, err = fmt.Fprintf(a.streams.Out, "go       %s\nplatform %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
			}
			return err
		},
	}
	c.Flags().BoolVar(&verbose, "verbose", false, "also the Go version and the platform")
	return c
}
