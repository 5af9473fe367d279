package figures

import "testing"

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{8, 1, 2, 4}, 3},
	} {
		if got := Median(tc.of); got != tc.want {
			t.Errorf("median of %v is %v, want %v", tc.of, got, tc.want)
		}
	}
	v := []float64{3, 1, 2}
	Median(v)
	if v[0] != 3 {
		t.Error("Median sorted its argument: rounds would no longer match")
	}
}

func TestSpread(t *testing.T) {
	if got, want := SpreadOf([]float64{3.004, 1.006, 2}).Hundredths(), (Spread{2, 1.01, 3}); got != want {
		t.Errorf("spread %v, want %v", got, want)
	}
	if got := SpreadOf(nil); got != (Spread{}) {
		t.Errorf("the spread of no value is %v", got)
	}
}
