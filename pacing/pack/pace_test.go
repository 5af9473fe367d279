package pack

import (
	"reflect"
	"testing"

	"github.com/weirhq/weir/pacing/control"
)

// TestPaceRecord: no field of the state is lost on its way through a pack.
func TestPaceRecord(t *testing.T) {
	var p control.Pace
	next := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			next++
			switch f.Kind() {
			case reflect.Struct:
				fill(f)
			case reflect.Float64:
				f.SetFloat(float64(next))
			case reflect.Int32, reflect.Int64:
				f.SetInt(next)
			case reflect.Bool:
				f.SetBool(true)
			default:
				t.Fatalf("field %s is a %s: fill it", v.Type().Field(i).Name, f.Kind())
			}
		}
	}
	fill(reflect.ValueOf(&p).Elem())
	m := paceRecord(&p)
	if got := Pace(m); got != p {
		t.Errorf("%+v, want %+v", got, p)
	}
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); !m.ProtoReflect().Has(f) {
			t.Errorf("the field %s of the record is not set", f.Name())
		}
	}
}
