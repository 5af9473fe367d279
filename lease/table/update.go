package table

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Update returns the request for a write of the protocol. with holds attributes that are set beside
// the rule's own. The answer has the new row or, if a condition fails, the present row.
func Update(table string, p lease.PrimaryKey, w *lease.Write, with Item) *dynamodb.UpdateItemInput {
	u := update{names: map[string]string{}, values: Item{}}
	for _, c := range w.Rule.When {
		u.condition(c, w)
	}
	u.set(Version, N(w.Args.Version+1+w.Rule.VersionJump))
	for _, a := range w.Rule.Set {
		u.set(name(a), value(a, &w.Args))
	}
	for attribute, v := range with {
		u.set(attribute, v)
	}
	for _, a := range w.Rule.Remove {
		u.removes = append(u.removes, u.name(name(a)))
	}
	expression := "SET " + strings.Join(u.sets, ", ")
	if len(u.removes) > 0 {
		expression += " REMOVE " + strings.Join(u.removes, ", ")
	}
	return &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: PrimaryKey(p),
		ConditionExpression: aws.String(strings.Join(u.conditions, " AND ")), UpdateExpression: aws.String(expression),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// update is a request under construction. It uses aliases for all names, since some are reserved
// words.
type update struct {
	conditions, sets, removes []string
	names                     map[string]string
	values                    Item
}

func (u *update) name(attribute string) string {
	alias := "#" + attribute
	u.names[alias] = attribute
	return alias
}

func (u *update) value(v types.AttributeValue) string {
	alias := ":" + strconv.Itoa(len(u.values))
	u.values[alias] = v
	return alias
}

func (u *update) set(attribute string, v types.AttributeValue) {
	u.sets = append(u.sets, u.name(attribute)+" = "+u.value(v))
}

func (u *update) condition(c lease.Condition, w *lease.Write) {
	alias := u.name(name(c.Attr))
	var s string
	switch c.Test {
	case lease.Absent:
		s = "attribute_not_exists(" + alias + ")"
	case lease.Equal:
		s = alias + " = " + u.value(value(c.Attr, &w.Args))
	case lease.Past:
		s = alias + " <= " + u.value(N(w.Now))
	case lease.OwnRegion:
		s = alias + " = " + u.value(S(w.Region))
	case lease.Ended:
		s = alias + " < " + u.value(N(w.Now-w.Skew))
	}
	u.conditions = append(u.conditions, s)
}

func name(a lease.Attr) string {
	return [...]string{Version, ExpiresMs, Owner, Holder, AvailableMs, State, Resource, ResourceVersion, Winner}[a]
}

func value(a lease.Attr, r *lease.Row) types.AttributeValue {
	switch a {
	case lease.AttrVersion:
		return N(r.Version)
	case lease.AttrExpires:
		return N(r.Expires)
	case lease.AttrOwner:
		return S(r.Owner)
	case lease.AttrHolder:
		return S(r.Holder)
	case lease.AttrAvailable:
		return N(r.Available)
	case lease.AttrState:
		return S(string(r.State))
	case lease.AttrResource:
		return S(r.Resource)
	case lease.AttrResourceVersion:
		return N(r.ResourceVersion)
	default:
		return S(r.Winner)
	}
}
