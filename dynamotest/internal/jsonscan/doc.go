// Package jsonscan reads JSON text in one pass and without allocation. The caller either asks for
// the value that it expects, or asks for the type of the next value and decides.
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
//  1. The first error stays. All later calls do nothing and return zero values, every loop over
//     Next ends, and End returns the error. So a caller needs to check End alone.
//  2. It accepts JSON of RFC 8259 in valid UTF-8, nested at most 1000 deep, and nothing else.
//
// # What it does not do
//
// It converts to no types, builds no tree and does not detect duplicate keys.
package jsonscan
