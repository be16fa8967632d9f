// Command benchimport measures what an import costs the importing process, in
// processor time per record: spanbulk against a loop over the official Go client
// that decodes with encoding/json. It is run by scripts/bench-import.sh.
//
// The server is a process of its own and answers every BatchWrite at once, so
// that its cost is in none of the figures. It checks that as many mutation
// groups arrive as there are records.
package main
