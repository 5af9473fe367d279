package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/config"
)

// TestSharesFitTheBudget: what is given out is not more than there is, whatever else is set, and follows the budget.
func TestSharesFitTheBudget(t *testing.T) {
	for _, roleList := range []string{"spendcounter", "leases", "spendcounter,leases", "balancer", "executor,bridge"} {
		for _, memory := range []string{"128MiB", "512MiB", "768MiB", "64GiB"} {
			for _, workers := range []string{"0", "1", "2", "64"} {
				for _, standbys := range []string{"0", "2"} {
					environ := []string{"WEIR_PROCESSOR_COMMIT_BYTES=64MiB", "WEIR_PROCESSOR_WORKERS=" + workers, "WEIR_PROCESSOR_STANDBYS=" + standbys, "WEIR_MEMORY=" + memory}
					rows := memoryRows(t, environ, roleList)
					sum := int64(0)
					for _, row := range rows[1:] {
						if row.Bytes <= 0 || row.Note == "" || row.Role == "" {
							t.Errorf("%s, %s with %s workers: %+v", roleList, memory, workers, row)
						}
						if row.What != "event ids" {
							sum += row.Bytes
						}
					}
					// What executors and bridges have under way does not grow with the budget.
					least := memory == "64GiB" || roleList == "executor,bridge"
					if total := rows[0].Bytes; sum > total || !least && sum < total*8/10 {
						t.Errorf("%s, %s with %s workers, %s standbys: %d are given of %d", roleList, memory, workers, standbys, sum, total)
					}
				}
			}
		}
	}
}

// TestSharesGoToRolesThatRun: a role alone has all of the budget, and one that does not run nothing.
func TestSharesGoToRolesThatRun(t *testing.T) {
	cache := func(roleList, of string) (bytes int64) {
		for _, row := range memoryRows(t, []string{"WEIR_MEMORY=1GiB"}, roleList) {
			if row.Role == of && row.What == "block cache" {
				bytes = row.Bytes
			}
		}
		return bytes
	}
	if n := cache("balancer", "spendcounter"); n != 0 {
		t.Errorf("a spend counter that does not run has %d bytes", n)
	}
	alone, beside, all := cache("balancer", "balancer"), cache("balancer,liberator", "balancer"), cache("leases,spendcounter", "balancer")
	if alone != 384<<20 || beside >= alone || all >= beside || all < alone/8 {
		t.Errorf("the balancer's cache of 1 GiB: %d alone, %d beside a liberator, %d beside all", alone, beside, all)
	}
	if spend := cache("spendcounter", "spendcounter"); spend != 128<<20 {
		t.Errorf("the spend counter alone has a cache of %d bytes", spend)
	}
	if a, b := memoryRows(t, nil, "leases"), memoryRows(t, nil, "leases,bridge,balancer"); !slices.Equal(a, b) {
		t.Errorf("roles that are named twice have more: %v, %v", a, b)
	}
}

// memoryRows is what becomes of the budget that the settings give to the roles.
func memoryRows(t *testing.T, environ []string, roleList string) []BudgetRow {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: append([]string{}, environ...), Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	return NewBudget(cfg, strings.Split(roleList, ",")).Rows(cfg)
}
