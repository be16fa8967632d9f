// Package bench is what the benchmark programs of scripts/ share: a table of ten
// columns with rows that do not change from run to run, and the measuring of
// whole processes by the processor time that the operating system accounts to
// them.
package bench
