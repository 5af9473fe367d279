// Package wire implements DynamoDB's protocol, AWS JSON 1.0: errors, requests and parts of answers.
//
//	X-Amz-Target: DynamoDB_20120810.PutItem     ┐
//	{"TableName":"t","Item":{...}}              ┘─▶ Read(body, Params) ─▶ Request ─▶ dynamotest
//	                                                                                    │
//	400 {"__type":"...#ValidationException", ◀── Error ◀────────────────────────────────┘
//	     "message":"..."}
//
// Invariants:
//
//   - A parameter that an operation does not support is rejected with an error that names it. It is
//     never ignored. A parameter that is null counts as absent.
//   - As in DynamoDB, an error in the shape of the JSON (SerializationException) precedes an error
//     in a value (ValidationException), wherever in the request the two are.
//
// The package knows no tables: package dynamotest checks parameters against a table.
package wire
