package events

import "testing"

// FuzzParseOrigin: what ParseOrigin accepts is possible, and is what AppendOrigin has written.
func FuzzParseOrigin(f *testing.F) {
	f.Add(AppendOrigin(nil, Origin{Topic: [16]byte{7}, Partition: 3, Offset: 9, Previous: 5}))
	f.Add(AppendOrigin(nil, Origin{Previous: -1}))
	f.Add(AppendOrigin(nil, Origin{Partition: 1, Offset: 7, Previous: 6})[:35])
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, value []byte) {
		o, ok := ParseOrigin(value)
		if !ok {
			return
		}
		if again := AppendOrigin(nil, o); string(again) != string(value) {
			t.Errorf("%x is read as %x", value, again)
		}
		if o.Partition < 0 || o.Previous < -1 || o.Previous >= o.Offset || o.Offset+1 <= 0 {
			t.Errorf("%+v is impossible", o)
		}
	})
}
