package node

import "fmt"

// Charge is money in one currency.
type Charge struct {
	Currency string
	Micros   int64
}

// Charged returns what this process has charged since it started, by currency, in their order. An
// aborted transaction counts again.
func (n *Node) Charged() (list []Charge, err error) {
	families, err := n.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	for _, f := range families {
		if f.GetName() != "weir_spendcounter_charged_micros_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			list = append(list, Charge{m.GetLabel()[0].GetValue(), int64(m.GetCounter().GetValue())})
		}
	}
	return list, nil
}
