// Package lint checks the rules of this house that no linter knows. Its test runs the checks on the whole repository.
//
//	go list ─▶ []Package ─▶ CheckImports ─┐
//	git ls-files ─▶ []File ─▶ CheckSource ─┼─▶ complaints, each with what to use instead
//	                       ├▶ CheckText ──┤
//	                       └▶ CheckEvents ┘
//
// The checks are pure functions, so that their own tests can show them a tree that breaks each rule: a check that
// cannot fail is worth nothing.
//
// What golangci-lint can check is in .golangci.yml and not here.
package lint
