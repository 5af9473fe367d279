package wire

// param returns the function that reads the parameter with that name, or nil if no operation on
// items has it.
func param(name string) func(*Request, *Reader) {
	switch name {
	case "TableName":
		return func(q *Request, r *Reader) { r.text(&q.TableName) }
	case "IndexName":
		return func(q *Request, r *Reader) { r.text(&q.IndexName) }
	case "Key":
		return func(q *Request, r *Reader) { q.HasKey = true; r.item(&q.Key) }
	case "Item":
		return func(q *Request, r *Reader) { q.HasItem = true; r.item(&q.Item) }
	case "ExclusiveStartKey":
		return func(q *Request, r *Reader) { q.HasExclusive = true; r.item(&q.ExclusiveStartKey) }
	case "ExpressionAttributeNames":
		return func(q *Request, r *Reader) { q.HasNames, q.Names = true, r.names() }
	case "ExpressionAttributeValues":
		return func(q *Request, r *Reader) {
			q.HasValues = true
			values, err := r.items.Values(&r.Scanner)
			r.fail(err)
			q.Values = values
		}
	case "ConsistentRead":
		return func(q *Request, r *Reader) { q.HasConsistent = true; r.flag(&q.ConsistentRead) }
	case "ScanIndexForward":
		return func(q *Request, r *Reader) {
			forward := true
			r.flag(&forward)
			q.Backward = !forward
		}
	case "Limit":
		return func(q *Request, r *Reader) { r.number(&q.Limit) }
	case "Segment":
		return func(q *Request, r *Reader) { r.number(&q.Segment) }
	case "TotalSegments":
		return func(q *Request, r *Reader) { r.number(&q.TotalSegments) }
	default:
		return option(name)
	}
}

// option returns the functions of param for expressions and for parameters with a fixed set of
// values.
func option(name string) func(*Request, *Reader) {
	switch name {
	case "ConditionExpression":
		return func(q *Request, r *Reader) { r.text(&q.Condition) }
	case "UpdateExpression":
		return func(q *Request, r *Reader) { r.text(&q.Update) }
	case "ProjectionExpression":
		return func(q *Request, r *Reader) { r.text(&q.Projection) }
	case "FilterExpression":
		return func(q *Request, r *Reader) { r.text(&q.Filter) }
	case "KeyConditionExpression":
		return func(q *Request, r *Reader) { r.text(&q.KeyCondition) }
	case "ReturnValues":
		return func(q *Request, r *Reader) { r.text(&q.ReturnValues) }
	case "ReturnValuesOnConditionCheckFailure":
		return func(q *Request, r *Reader) { r.text(&q.OnFailure) }
	case "ReturnConsumedCapacity":
		return func(q *Request, r *Reader) { r.text(&q.ReturnCapacity) }
	case "ReturnItemCollectionMetrics":
		return func(q *Request, r *Reader) { r.text(&q.ReturnMetrics) }
	case "Select":
		return func(q *Request, r *Reader) { r.text(&q.Select) }
	default:
		return nil
	}
}

// ParamsOf returns the parameters of an operation by name.
func ParamsOf(names ...string) Params {
	p := Params{}
	for _, n := range names {
		p[n] = param(n)
	}
	return p
}

// With adds a parameter, such as RequestItems of a batch, and returns the parameters.
func (p Params) With(name string, read func(*Request, *Reader)) Params {
	p[name] = read
	return p
}
