// Spanbulk moves rows in bulk between Cloud Spanner and files or pipes.
package main

import (
	"os"

	"spanbulk/cmd"
)

func main() { os.Exit(cmd.Execute()) }
