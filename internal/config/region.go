package config

import (
	"net/url"
	"strings"
)

// SplitRegion splits an item of leases.regions, name or name=URL. ok is false if it has another
// form.
func SplitRegion(s string) (name, endpoint string, ok bool) {
	name, endpoint, _ = strings.Cut(s, "=")
	if !consistsOf(name, 128, "-", false) {
		return "", "", false
	}
	if endpoint == "" {
		return name, "", !strings.Contains(s, "=")
	}
	u, err := url.Parse(endpoint)
	return name, endpoint, err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// RegionEndpoints returns the regions in their order, and the endpoints of those that have one.
func (l *Leases) RegionEndpoints() (regions []string, endpoints map[string]string) {
	endpoints = map[string]string{}
	for _, s := range l.Regions {
		name, at, _ := SplitRegion(s)
		regions = append(regions, name)
		if at != "" {
			endpoints[name] = at
		}
	}
	return regions, endpoints
}

// LocalRegion returns the region in which commands lease resources.
func (l *Leases) LocalRegion() string {
	if l.Region != "" {
		return l.Region
	}
	regions, _ := l.RegionEndpoints()
	return regions[0]
}

// HomeRegion returns the region through which settings and new resources are written.
func (l *Leases) HomeRegion() string {
	if l.Home != "" {
		return l.Home
	}
	regions, _ := l.RegionEndpoints()
	return regions[0]
}
