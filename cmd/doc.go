// Package cmd is the command line of spanbulk: one constructor of a cobra
// command for each verb, with an options struct that knows its flags, their
// bounds and their contradictions.
//
// It turns flags, environment and config files into the plain options of the
// engines, shows progress, writes summaries, and alone turns errors into text
// and exit codes. It holds no logic of reading or writing Spanner, and no state
// outlives a call of Run: everything it touches of the process (streams,
// environment, terminal) comes in a Streams value.
package cmd
