// Package examples holds programs that use weir as a library: first, wordcount, visits, sessions
// and join process streams, leaseworker leases a resource. docs/write-a-processor.md begins with
// first and wordcount.
package examples
