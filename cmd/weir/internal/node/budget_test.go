package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/config"
)

// The uses of all roles together fit the budget, and grow with the budget.
func TestUsesFitTheBudget(t *testing.T) {
	for _, names := range []string{"spendcounter", "leases", "spendcounter,leases", "balancer", "executor,bridge"} {
		for _, memory := range []string{"128MiB", "512MiB", "768MiB", "64GiB"} {
			for _, workers := range []string{"0", "1", "2", "64"} {
				for _, standbys := range []string{"0", "2"} {
					environ := []string{"WEIR_PROCESSOR_COMMIT_BYTES=64MiB", "WEIR_PROCESSOR_WORKERS=" + workers, "WEIR_PROCESSOR_STANDBYS=" + standbys, "WEIR_MEMORY=" + memory}
					rows := memoryRows(t, environ, names)
					sum := int64(0)
					for _, row := range rows[1:] {
						if row.Bytes <= 0 || row.Note == "" || row.Role == "" {
							t.Errorf("%s, %s with %s workers: %+v", names, memory, workers, row)
						}
						if row.What != "event ids" {
							sum += row.Bytes
						}
					}
					// The queues of executors and bridges do not grow with the budget.
					capped := memory == "64GiB" || names == "executor,bridge"
					if total := rows[0].Bytes; sum > total || !capped && sum < total*8/10 {
						t.Errorf("%s, %s with %s workers, %s standbys: %d bytes are used of %d", names, memory, workers, standbys, sum, total)
					}
				}
			}
		}
	}
}

// A role alone has the whole budget. A role that does not run has nothing.
func TestBudgetIsOfRolesThatRun(t *testing.T) {
	cache := func(names, of string) (bytes int64) {
		for _, row := range memoryRows(t, []string{"WEIR_MEMORY=1GiB"}, names) {
			if row.Role == of && row.What == "block cache" {
				bytes = row.Bytes
			}
		}
		return bytes
	}
	if n := cache("balancer", "spendcounter"); n != 0 {
		t.Errorf("a spend counter that does not run has a cache of %d bytes", n)
	}
	alone, beside, all := cache("balancer", "balancer"), cache("balancer,liberator", "balancer"), cache("leases,spendcounter", "balancer")
	if alone != 384<<20 || beside >= alone || all >= beside || all < alone/8 {
		t.Errorf("the balancer's cache of 1 GiB: %d alone, %d beside a liberator, %d beside all", alone, beside, all)
	}
	if spend := cache("spendcounter", "spendcounter"); spend != 128<<20 {
		t.Errorf("the spend counter alone has a cache of %d bytes", spend)
	}
	if a, b := memoryRows(t, nil, "leases"), memoryRows(t, nil, "leases,bridge,balancer"); !slices.Equal(a, b) {
		t.Errorf("roles named twice have another budget: %v, %v", a, b)
	}
}

// memoryRows returns the budget of a process with these settings and roles.
func memoryRows(t *testing.T, environ []string, names string) []BudgetRow {
	t.Helper()
	roles, err := Select(strings.Split(names, ","))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Environ: append([]string{}, environ...), Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	return NewBudget(cfg, roles).Rows()
}
