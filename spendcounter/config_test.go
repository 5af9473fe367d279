package spendcounter

import (
	"strings"
	"testing"
	"time"
)

func TestConfigRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"duplicate window":                 {DuplicateWindow: -time.Second},
		"max ids":                          {MaxIDs: 1},
		"cache entries":                    {CacheEntries: -1},
		"max price":                        {MaxPriceMicros: -1},
		"datacentre":                       {DC: "EU West"},
		"same topic":                       {Inputs: Inputs{Events: "x", Adjustments: "x"}},
		"origin of topic":                  {Inputs: Inputs{Copied: map[string]string{"t": "?"}}},
		"both copied and":                  {Inputs: Inputs{Copied: map[string]string{"ads.events": "dc-b"}}},
		"would be counted twic":            {Inputs: Inputs{Copied: map[string]string{"t": "local"}}},
		"topics t and u both hold the adj": {Inputs: Inputs{CopiedAdjustments: map[string]string{"t": "dc-b", "u": "dc-b"}}},
		"both events and adjustments":      {Inputs: Inputs{Copied: map[string]string{"t": "dc-b"}, CopiedAdjustments: map[string]string{"t": "dc-b"}}},
		"counted twice":                    {Inputs: Inputs{Copied: map[string]string{"t": "dc-b", "u": "dc-b"}}},
	} {
		_, err := New(cfg, newStore().task())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if _, err := New(Config{}, newStore().task()); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

func TestCorruptTaskRecord(t *testing.T) {
	for _, value := range [][]byte{{0xff}, {0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x32, 0, 0x58, stateLayout}} {
		s := newStore()
		s.tables[TableTask] = map[string][]byte{TaskKey: value}
		if _, err := New(Config{}, s.task()); err == nil || !strings.Contains(err.Error(), "rebuild the store") {
			t.Errorf("%x: error %v", value, err)
		}
	}
	s := newStore()
	s.tables[TableRings] = map[string][]byte{ringsKey: {0xff}}
	if _, err := New(Config{}, s.task()); err == nil || !strings.Contains(err.Error(), "rebuild the store") {
		t.Errorf("rings: %v", err)
	}
}
