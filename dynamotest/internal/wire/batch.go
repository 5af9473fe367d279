package wire

import "github.com/weirhq/weir/dynamotest/internal/item"

// GetItems reads the RequestItems of a BatchGetItem.
func GetItems(q *Request, r *Reader) {
	q.RequestItems = true
	r.object(func(name []byte) {
		t := GetTable{Table: string(name)}
		r.object(func(name []byte) {
			switch string(name) {
			case "Keys":
				r.array(func() {
					t.Keys = append(t.Keys, item.Item{})
					r.item(&t.Keys[len(t.Keys)-1])
				})
			case "ConsistentRead":
				r.flag(&t.ConsistentRead)
			case "ProjectionExpression":
				r.text(&t.Projection)
			case "ExpressionAttributeNames":
				t.HasNames, t.Names = true, r.names()
			default:
				r.refuse(Unsupported("the parameter " + string(name) + " of BatchGetItem"))
				r.Skip()
			}
		})
		q.Gets = append(q.Gets, t)
	})
}

// WriteItems reads the RequestItems of a BatchWriteItem.
func WriteItems(q *Request, r *Reader) {
	q.RequestItems = true
	r.object(func(name []byte) {
		t := WriteTable{Table: string(name)}
		r.array(func() {
			var w Write
			kinds := 0
			r.object(func(name []byte) {
				kind := string(name)
				want := map[string]string{"PutRequest": "Item", "DeleteRequest": "Key"}[kind]
				if want == "" {
					r.refuse(Unsupported("the parameter " + kind + " of BatchWriteItem"))
					r.Skip()
					return
				}
				kinds++
				w.Delete = kind == "DeleteRequest"
				r.object(func(name []byte) {
					if string(name) != want {
						r.refuse(Unsupported("the parameter " + string(name) + " of " + kind))
						r.Skip()
						return
					}
					r.item(&w.Item)
				})
			})
			if kinds != 1 {
				r.refuse(Invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest"))
			}
			t.Writes = append(t.Writes, w)
		})
		q.Writes = append(q.Writes, t)
	})
}
