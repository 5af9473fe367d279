// Package jsonscan reads JSON text front to back, in one pass and without allocation: the caller asks for what it expects
// and gets it, or asks what comes and decides.
//
//	{"S": "a\n", "NS": ["1"]}      s.Enter('{')          true
//	 ▲                             for s.Next('}') {
//	 position                          s.Key()           "S"      "NS"
//	                                   s.Text()          "a\n"
//	                                   s.Peek()                   '['
//	                                   s.Skip() or s.Enter('[') … s.Next(']') …
//	                               }
//	                               s.End()               nil, or why the text is not JSON
//
// # Invariants
//
//  1. The first error stays: all calls after it do nothing and return zero values, every loop over Next ends, and End
//     returns the error. So only the end needs a check.
//  2. What is accepted is JSON of RFC 8259 in valid UTF-8, and nothing else, nested at most 1000 deep.
//
// # What it does not do
//
// It knows no types, builds no tree and finds no duplicate keys.
package jsonscan
