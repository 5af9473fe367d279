package node

import (
	"fmt"
	"slices"
	"strings"
)

// Groups returns the groups of all roles, each once.
func Groups() (groups []Group) {
	for _, r := range Roles() {
		if !slices.Contains(groups, r.Group) {
			groups = append(groups, r.Group)
		}
	}
	return groups
}

// GroupNames returns the values of --for.
func GroupNames() (names []string) {
	for _, g := range Groups() {
		names = append(names, g.Name)
	}
	return names
}

// RoleNames returns the values of --roles: each role, and each group with several roles before its
// first role.
func RoleNames() (names []string) {
	for _, g := range Groups() {
		roles := InGroups(g.Name)
		if len(roles) > 1 {
			names = append(names, g.Name)
		}
		for _, r := range roles {
			names = append(names, r.Name)
		}
	}
	return names
}

// DefaultRoles returns the names of the roles that a process runs if --roles is not given.
func DefaultRoles() []string { return []string{spendCounterRole().Name} }

// DevRoles returns the roles of `weir dev`.
func DevRoles() []Role {
	return slices.DeleteFunc(Roles(), func(r Role) bool { return !r.Dev })
}

// InGroups returns the roles of the named groups.
func InGroups(names ...string) []Role {
	return slices.DeleteFunc(Roles(), func(r Role) bool { return !slices.Contains(names, r.Group.Name) })
}

// UnknownRoleError reports a name that is neither a role nor a group of several roles.
type UnknownRoleError struct {
	Name string
}

// Error names the unknown role.
func (e *UnknownRoleError) Error() string { return fmt.Sprintf("no role is called %q", e.Name) }

// Select returns the roles that names stand for, each once. Its error is an *UnknownRoleError.
func Select(names []string) ([]Role, error) {
	for _, n := range names {
		if !slices.Contains(RoleNames(), n) {
			return nil, &UnknownRoleError{n}
		}
	}
	return slices.DeleteFunc(Roles(), func(r Role) bool {
		return !slices.Contains(names, r.Name) && !slices.Contains(names, r.Group.Name)
	}), nil
}

// RoleList returns the shortest value of --roles that stands for roles: a group's name in place of
// the names of all its roles.
func RoleList(roles []Role) string {
	has := func(name string) bool { return slices.ContainsFunc(roles, func(r Role) bool { return r.Name == name }) }
	var names []string
	for _, g := range Groups() {
		var some []string
		all := InGroups(g.Name)
		for _, r := range all {
			if has(r.Name) {
				some = append(some, r.Name)
			}
		}
		if len(all) > 1 && len(some) == len(all) {
			some = []string{g.Name}
		}
		names = append(names, some...)
	}
	return strings.Join(names, ",")
}
