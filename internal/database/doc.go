// Package database says where a Spanner database is and opens a connection to
// it: the name, the credentials, the endpoint, the channels, one multiplexed
// session.
//
// A Conn hands out the generated apiv1 client, over which the engines run their
// RPCs with codecs and retries of their own. It adds to each call what every
// call needs (the resource prefix header) and nothing that would reach another
// host: telemetry and native metrics are off, and with an emulator endpoint no
// credentials are looked for.
//
// Query is for the few small results a command needs around its bulk work
// (INFORMATION_SCHEMA, the database's dialect); rows in bulk never pass
// through it.
package database
