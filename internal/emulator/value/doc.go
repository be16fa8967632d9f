// Package value holds the embedded Spanner's types and typed values.
//
// A value has two forms. Its wire form is the encoded google.protobuf.Value
// that travels in requests and answers; Canonical turns what a client sent
// into the one spelling that Spanner sends back, refusing what Spanner
// refuses, and rows are stored that way (see Row), so that reading is copying.
// A Value is the decoded form that expressions are evaluated on and that
// orders results. AppendKey makes byte strings that sort as keys do.
//
// The package knows nothing of schemas, transactions or SQL, and shares no
// code with the client side of the project: the two are written apart so that
// a misreading of the protocol shows.
package value
