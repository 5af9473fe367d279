package table

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// headroomNumbers returns the integer fields of h by their attributes.
func headroomNumbers(h *eventspb.LeaseHeadroom) map[string]*int64 {
	return map[string]*int64{
		HeadroomAsOfMs: &h.AsOfMs, "free": &h.Free, "returning": &h.Returning, "leased": &h.Leased, "in_transit": &h.InTransit,
		"outbound": &h.Outbound, "need": &h.Need,
		"horizon_ms": &h.HorizonMs, "floor": &h.Floor, "refused": &h.Refused, "lag_ms": &h.LagMs,
	}
}

// HeadroomItem returns the item of h. Rates are rounded to a millionth.
func HeadroomItem(h *eventspb.LeaseHeadroom) Item {
	item := PrimaryKey(lease.HeadroomRow(h.GetClient(), h.GetPool(), h.GetRegion()))
	item[ClientID], item[PoolID], item[WriterRegion] = S(h.GetClient()), S(h.GetPool()), S(h.GetRegion())
	for name, n := range headroomNumbers(h) {
		item[name] = N(*n)
	}
	item[HeadroomRate], item[HeadroomSpread] = Decimal(strconv.FormatFloat(h.GetRate(), 'f', 6, 64)),
		Decimal(strconv.FormatFloat(h.GetSpread(), 'f', 6, 64))
	item[Forecast], item[RegionState] = S(h.GetForecast()), S(h.GetState())
	return item
}

// HeadroomOf reads a headroom row. An absent number is 0.
func HeadroomOf(item Item) (*eventspb.LeaseHeadroom, error) {
	h := &eventspb.LeaseHeadroom{
		Client: Text(item, ClientID), Pool: Text(item, PoolID), Region: Text(item, SK), Forecast: Text(item, Forecast),
		State: Text(item, RegionState),
	}
	for name, to := range headroomNumbers(h) {
		if item[name] == nil {
			continue
		}
		n, err := Number(item, name)
		if err != nil {
			return nil, err
		}
		*to = n
	}
	for name, to := range map[string]*float64{HeadroomRate: &h.Rate, HeadroomSpread: &h.Spread} {
		s, ok := item[name].(*types.AttributeValueMemberN)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(s.Value, 64)
		if err != nil {
			return nil, fmt.Errorf("attribute %s is %s, not a number", name, s.Value)
		}
		*to = x
	}
	return h, nil
}

// PutHeadroom writes the headroom row of h through its region, unless the row there has the same or
// a later HeadroomAsOfMs. In that case ok is false and found is the present row.
func (t *Table) PutHeadroom(ctx context.Context, h *eventspb.LeaseHeadroom) (found Item, ok bool, err error) {
	item := HeadroomItem(h)
	in := &dynamodb.PutItemInput{
		TableName: &t.Name, Item: item, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ConditionExpression:       aws.String("attribute_not_exists(#as_of) OR #as_of < :as_of"),
		ExpressionAttributeNames:  map[string]string{"#as_of": HeadroomAsOfMs},
		ExpressionAttributeValues: Item{":as_of": item[HeadroomAsOfMs]},
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(h.GetRegion()).PutItem(ctx, in, t.Options)
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		return refused.Item, false, nil
	case err != nil:
		return nil, false, t.ClassifyError(h.GetRegion(), err)
	}
	return item, true, t.checkClock(out.ResultMetadata, begun)
}
