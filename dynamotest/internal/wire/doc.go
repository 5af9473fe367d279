// Package wire has DynamoDB's protocol, AWS JSON 1.0: errors, requests and the pieces of answers.
//
//	X-Amz-Target: DynamoDB_20120810.PutItem     ┐
//	{"TableName":"t","Item":{...}}              ┘─▶ Read(body, Params) ─▶ Request ─▶ (package service)
//	                                                                                    │
//	400 {"__type":"...#ValidationException", ◀── Error ◀────────────────────────────────┘
//	     "message":"..."}
//
// Invariants:
//   - A parameter that an operation does not support is refused by its name, never passed over. One that is null counts
//     as absent.
//   - As in the service, what is wrong with the JSON's shape (SerializationException) goes before what is wrong with a
//     value (ValidationException), wherever in the request both are.
//
// It does not know tables: whether a parameter makes sense is for package service.
package wire
